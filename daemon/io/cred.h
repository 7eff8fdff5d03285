/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cred - the credentials of one cluster: has the helper open the files, gives TLS context and token
 * to the API client, and reads the token again when it may be old
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

/* BASIC is USER:PASSWORD, which is never in a file. */
enum cred_item { CRED_CA, CRED_CERT, CRED_KEY, CRED_TOKEN, CRED_BASIC, CRED_ITEMS };

/* Where one item comes from: from data of the kubeconfig, or from a file; neither = the item is not
 * configured. A token may have both: then the data serves until the file can be read for the first
 * time (docs/kubernetes-protocol.md "Kubeconfig fields"). */
struct cred_source {
    const char *data; /* PEM, token or password; NULL = from a file */
    const char *path; /* for messages only, as the helper opens it; NULL = no file */
    uint32_t file;    /* the number of that file in helper_params */
};

/* Borrowed; must outlive the object. */
struct cred_params {
    struct loop *loop;
    struct helper_link *link;
    struct api_client *client;
    bool tls; /* false: plain http, no credentials are sent */
    struct cred_source items[CRED_ITEMS];
    struct backoff_params retry; /* while the credentials cannot be read or used */
    uint64_t seed;               /* of the jitter of retry */
    uint64_t tag;                /* files are opened with the tags tag + enum cred_item */
};

/* The API client has its credentials for the first time: requests may start. Runs at most once,
 * from the loop, never inside a call of the user. Must not dispose the object. */
typedef void cred_ready_cb(void *arg);

/* Starts to read in the next turn. Credentials that cannot be read or used are logged, and
 * everything is read again after the pauses of retry. ready may be NULL. Never NULL; release with
 * cred_dispose(). */
struct cred *cred_create(const struct cred_params *params, cred_ready_cb *ready, void *arg);

/* The helper's answer for a tag of this object: fd is an open file, which this closes, or -1 and
 * error is an errno. */
void cred_opened(struct cred *c, uint64_t tag, int fd, int error);

/* The keys of the certificate authorities that servers are checked against, once the credentials
 * are there; none before, and with plain http. Valid until cred_dispose(). */
const struct tls_keys *cred_authorities(const struct cred *c);

/* The server refused the token (401): reads the token's file again now. Nothing happens if the
 * token has no file, or if credentials are just being read or waited for. */
void cred_renew(struct cred *c);

/* The end for the user: *c is NULL, secrets are wiped. NULL is fine. */
void cred_dispose(struct cred **c);

#endif
