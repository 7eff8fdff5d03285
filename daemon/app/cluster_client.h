/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cluster_client - the way to one cluster as one configuration has it: the API client, and the logins
 * that give credentials to its servers. A reload that changes the way makes a second one; the first one
 * serves until the second one has all of its credentials (app/cluster_runtime); driver.
 */
#ifndef APP_CLUSTER_CLIENT_H
#define APP_CLUSTER_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kube/cluster_identity.h"
#include "proto/tls_keys.h"

struct api_client;
struct cluster_client;
struct cluster_settings;
struct err;
struct expiry;
struct helper_link;
struct loop;

/* Borrowed, except for settings, which are taken. */
struct cluster_client_params {
    struct loop *loop;
    struct helper_link *link;
    struct cluster_settings *settings;
    uint64_t tag;  /* as in cluster_runtime_params */
    uint64_t seed; /* of all jitter */
    bool is_wary;  /* as in api_client_params */
};

/* Events run on the stack of a callback of the loop, and must not dispose the object, except for
 * on_empty. */
struct cluster_client_events {
    /* Another login has all of its credentials. all: so has each one now. */
    void (*on_login)(void *arg, struct cluster_client *c, bool all);
    /* A login has other credentials. is_tls: new connections show them; else new requests. */
    void (*on_renewed)(void *arg, struct cluster_client *c, bool is_tls);
    /* Credentials of a login that is not ready cannot be used; after each try. */
    void (*on_lack)(void *arg, struct cluster_client *c, const struct err *err);
    /* judge() of api_client_params. */
    bool (*judge)(void *arg, struct cluster_client *c, const struct cluster_identity_answer *answer,
                  int status, struct err *err);
    /* After cluster_client_retire(): the last request has ended. May dispose the object. */
    void (*on_empty)(void *arg, struct cluster_client *c);
};

/* Starts to load the credentials. events must outlive the object. Never NULL; release with
 * cluster_client_dispose(). */
struct cluster_client *cluster_client_create(const struct cluster_client_params *params,
                                             const struct cluster_client_events *events, void *arg);

/* The settings that it was created with; borrowed. */
const struct cluster_settings *cluster_client_settings(const struct cluster_client *c);

/* The client that requests go through; never NULL. */
struct api_client *cluster_client_api(const struct cluster_client *c);

/* The helper has another configuration: settings has the new numbers of files and plugin. A file that is
 * not in it is read no more (cred_renumber()). */
void cluster_client_renumber(struct cluster_client *c, const struct cluster_settings *settings);

/* As cluster_runtime_opened(). */
bool cluster_client_opened(struct cluster_client *c, uint64_t tag, int fd, int error);

/* As cluster_runtime_changed(). */
void cluster_client_changed(struct cluster_client *c, uint32_t file);

/* A server has answered 401: the token may have expired, and a newer one may be in its file. */
void cluster_client_unauthorized(struct cluster_client *c);

/* Adds the keys of the CAs of all servers, as each of them is of the same cluster. */
void cluster_client_put_authorities(const struct cluster_client *c, struct tls_keys *keys);

/* As cluster_runtime_login_count(). */
size_t cluster_client_login_count(const struct cluster_client *c);

/* As cluster_runtime_expiry(). */
const struct expiry *cluster_client_expiry(const struct cluster_client *c, size_t login);

/* As cluster_runtime_credential_trouble(). */
const char *cluster_client_trouble(const struct cluster_client *c, size_t login);

/* The way is another one now: credentials are not read any more, and on_empty comes when the last
 * request has ended, never inside this call. Judge is the only other event from now on. */
void cluster_client_retire(struct cluster_client *c);

/* The end for the user: *c is NULL, and no event comes any more. NULL is fine. */
void cluster_client_dispose(struct cluster_client **c);

#endif
