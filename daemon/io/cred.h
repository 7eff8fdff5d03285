/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cred - credentials for servers: has the helper open their files or run their exec plugin, and gives
 * TLS contexts and tokens out, at the start and whenever they were replaced. kube/credentials decides
 * when that is, and which credentials are used; driver.
 */
#ifndef IO_CRED_H
#define IO_CRED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/backoff.h"
#include "io/exec_plugin.h"
#include "proto/tls_keys.h"

struct cred;
struct err;
struct expiry;
struct helper_link;
struct loop;
struct tls_ctx;

enum cred_item { CRED_CA, CRED_CERT, CRED_KEY, CRED_TOKEN, CRED_ITEMS };

/* Where one item comes from: from data of the kubeconfig, or from a file; neither = the item is not
 * configured. A token may have both: then the data serves until the file can be used for the first
 * time (docs/kubernetes-protocol.md "Kubeconfig fields"). */
struct cred_source {
    const char *data; /* PEM or token; NULL = from a file */
    const char *path; /* for messages only, as the helper opens it; NULL = no file */
    uint32_t file;    /* the number of that file in helper_params */
    const char *name; /* the name of the file in messages; NULL = path */
    /* Where the path is written: 'tokenFile of user "u" in kubeconfig /path'; NULL = in a setting. */
    const char *named_by;
};

/* Borrowed; must outlive the object. */
struct cred_params {
    struct loop *loop;
    struct helper_link *link;
    const char *cluster; /* its name, for the log */
    bool tls;            /* false: plain http, no credentials are sent or read */
    bool insecure;       /* servers are not verified, and no CA is configured */
    struct cred_source items[CRED_ITEMS];
    /* The plugin gives certificate, key and token. Then `items` has none of the three. command NULL =
     * there is no plugin. */
    struct exec_plugin_params plugin;
    struct backoff_params retry; /* while credentials cannot be read or used */
    uint64_t seed;               /* of the jitter of retry */
    uint64_t tag;                /* files are opened with the tags tag + enum cred_item */
    uint64_t expiry_ms;          /* limits.credential_expiry */
};

/* All are called from the loop, never inside a call of the user, and must not dispose the
 * object. */
struct cred_events {
    /* New connections use this context from now on: certificate, key or CA are other ones. ctx is
     * borrowed. */
    void (*on_tls)(void *arg, struct tls_ctx *ctx);
    /* New requests use this token from now on. It is borrowed, and has no byte that is forbidden in a
     * header. NULL: requests have no token, because the plugin gives only a certificate now. */
    void (*on_token)(void *arg, const char *token);
    /* on_tls and on_token have got everything that is configured: requests may start. Once. */
    void (*on_ready)(void *arg);
    /* A CA, certificate, key or token that is configured cannot be read or used, and nothing stands in
     * for it: on_ready has to wait. Comes after each try. NULL = not wanted. */
    void (*on_lack)(void *arg, const struct err *err);
};

/* Starts to read in the next turn. Files that cannot be read or used are logged and tried again;
 * earlier credentials stay in use meanwhile. events is borrowed. Never NULL; release with
 * cred_dispose(). */
struct cred *cred_create(const struct cred_params *params, const struct cred_events *events,
                         void *arg);

/* The helper's answer for a tag of this object: fd is an open file, which this closes, or -1 and
 * error is an errno. */
void cred_opened(struct cred *c, uint64_t tag, int fd, int error);

/* The helper says that the file of this number may have changed. It need not be one of this
 * object. */
void cred_changed(struct cred *c, uint32_t file);

/* As a number of cred_renumber(): the file or the plugin is not configured any more. */
#define CRED_GONE UINT32_MAX

/* The helper has another configuration (helper_link_commit()): the files of the items and the plugin
 * have these numbers now, and are read when they change, as before. An item or plugin that is
 * CRED_GONE is not read any more: the credential that was read last stays in use. Openings and runs
 * that were asked for go on. */
void cred_renumber(struct cred *c, const uint32_t files[CRED_ITEMS], uint32_t plugin);

/* A server has answered 401: has the files of certificate, key and token read again now, or the
 * plugin run. */
void cred_renew(struct cred *c);

/* The keys of the certificate authorities that servers are checked against, once they are known,
 * and behind them those of the CAs that were replaced: a rotation of the CA is none of the cluster
 * (docs/design.md "Cluster identity"). None with plain http. Valid until cred_dispose(). */
const struct tls_keys *cred_authorities(const struct cred *c);

/* When the credentials in use expire. Valid until cred_dispose(). */
const struct expiry *cred_expiry(const struct cred *c);

/* Why credentials cannot be read or used, once that was logged and until they can; NULL = they can.
 * Valid until the loop runs on. */
const char *cred_trouble(const struct cred *c);

/* The end for the user: *c is NULL, secrets are wiped. NULL is fine. */
void cred_dispose(struct cred **c);

#endif
