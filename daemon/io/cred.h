/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cred - the credentials of one cluster: asks the helper for the files, gives TLS context and token
 * to the cluster, reads the token again as it gets old
 * (docs/kubernetes-protocol.md "Bearer tokens"); driver.
 */
#ifndef IO_CRED_H
#define IO_CRED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/backoff.h"
#include "proto/tls_keys.h"

struct api_client;
struct cred;
struct helper_link;
struct loop;

enum cred_item { CRED_CA, CRED_CERT, CRED_KEY, CRED_TOKEN, CRED_ITEMS };

/* Where one of them comes from: data, or a file; neither = there is none. A token may have both: the
 * data serves until the file can be read for the first time
 * (docs/kubernetes-protocol.md "Kubeconfig fields"). */
struct cred_source {
    const char *data; /* PEM or token; NULL = from a file */
    const char *path; /* for messages; NULL = no file */
    uint32_t file;    /* its number with the helper */
};

/* Borrowed; must outlive the object. */
struct cred_params {
    struct loop *loop;
    struct helper_link *link;
    struct api_client *client;
    bool tls; /* false: plain http, no credentials are sent */
    struct cred_source items[CRED_ITEMS];
    struct backoff_params retry;
    uint64_t seed;
    uint64_t tag; /* items are asked for with tags tag .. tag + CRED_ITEMS - 1 */
};

/* The cluster has its credentials for the first time: sources may start. Runs once, from the
 * loop. */
typedef void cred_ready_cb(void *arg);

/* Starts reading in the next turn. What cannot be read or used is logged and tried again. Never
 * NULL. */
struct cred *cred_create(const struct cred_params *params, cred_ready_cb *ready, void *arg);

/* The helper's answer for a tag of this object; takes fd. */
void cred_opened(struct cred *c, uint64_t tag, int fd, int error);

/* Whom the servers are trusted by, once the cluster has its credentials; none before, and with plain
 * http. */
const struct tls_keys *cred_authorities(const struct cred *c);

/* The server refused the token: reads its file again now, if it has one and is not doing so. */
void cred_renew(struct cred *c);

/* The end for the user: *c is NULL, secrets are wiped. NULL is fine. */
void cred_dispose(struct cred **c);

#endif
