/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cluster_runtime - everything of one cluster that runs: connections, credentials, discovery, and
 * the drivers of the watches that are followed there.
 */
#ifndef APP_CLUSTER_RUNTIME_H
#define APP_CLUSTER_RUNTIME_H

#include <stdbool.h>
#include <stdint.h>

#include "app/cluster_access.h"
#include "cache/watch.h"
#include "conf/conf.h"
#include "kube/cluster_identity.h"
#include "kube/servers.h"

struct api_client;
struct cluster_runtime;
struct discovery_driver;
struct helper_link;
struct loop;

enum { CLUSTER_RUNTIME_TAGS = SERVERS_MAX * CRED_ITEMS };

/* Everything is borrowed, and must outlive the object. */
struct cluster_runtime_params {
    struct loop *loop;
    struct helper_link *link;
    const struct conf_cluster *conf;
    const struct cluster_access *cluster_access;
    const char *user_agent;
    /* Its credential files have CLUSTER_RUNTIME_TAGS tags from this one on with the helper. */
    uint64_t tag;
    uint32_t plugin; /* of its exec plugin, if it has one: the number in helper_params.hooks */
    uint64_t seed;   /* of all jitter of this cluster */
    uint64_t credential_expiry_ms; /* limits.credential_expiry */
};

/* Events run on the stack of a callback of the loop. */
struct cluster_runtime_events {
    /* Deltas may have run, a watch may have become synced or stale. */
    void (*on_progress)(void *arg);
    /* The credentials were read. err NULL: requests can be made now, and this does not come again; else
     * why some of them cannot be used, after each try. Must not dispose the object. NULL = not
     * wanted. */
    void (*on_credentials)(void *arg, const struct err *err);
};

/* Starts to load the credentials; requests begin when they are there. Never NULL; release with
 * cluster_runtime_dispose(). events must outlive the object. */
struct cluster_runtime *cluster_runtime_create(const struct cluster_runtime_params *params,
                                               const struct cluster_runtime_events *events,
                                               void *arg);

/* Adds a watch, to be followed as soon as the credentials are there. audit_ms: the interval of
 * audits, 0 = none. Call it before the loop runs. */
void cluster_runtime_add(struct cluster_runtime *s, struct watch *w, uint64_t audit_ms);

/* Judges an answer to the question which cluster it is. id is all that is known of the cluster
 * behind the servers now. Returns false if it is not the cluster that the watches belong to: *err
 * says so (ERR_FOREIGN), and nothing is taken from it. Runs on the stack of a callback of the loop;
 * it may do anything except dispose the object or drop its requests. */
typedef bool cluster_runtime_judge_cb(void *arg, const struct cluster_identity *id,
                                      struct err *err);

/* Has the servers asked which cluster they are, and passes each answer to the judge. If a watch is
 * held back, the question is the first request of all; else it comes before the first watch
 * request, after the first lists. It is repeated whenever another cluster may have come
 * (io/server_identity). Call it before the loop runs. */
void cluster_runtime_identify(struct cluster_runtime *s, cluster_runtime_judge_cb *judge,
                              void *arg);

/* Asks the servers once more now. Does nothing if a question is under way. After
 * cluster_runtime_identify(), when the credentials are there. */
void cluster_runtime_identify_again(struct cluster_runtime *s);

/* The right cluster answers again: watches that wait because another one did try at once. */
void cluster_runtime_retry(struct cluster_runtime *s);

/* Why the last try to ask which cluster it is has failed, for people; NULL = no try has failed.
 * Valid until the loop goes on. */
const char *cluster_runtime_identity_trouble(const struct cluster_runtime *s);

/* Holds a watch of this cluster back until cluster_runtime_follow(): it has objects that may be
 * from another cluster. After cluster_runtime_identify() and before the loop runs. */
void cluster_runtime_hold_back(struct cluster_runtime *s, const struct watch *w);

/* Starts to follow a watch that was held back; does nothing for other watches. Call it inside of
 * the judge, or later. */
void cluster_runtime_follow(struct cluster_runtime *s, const struct watch *w);

/* The helper has opened a credential file of this cluster, or failed with errno `error`. fd is
 * taken. */
void cluster_runtime_opened(struct cluster_runtime *s, uint64_t tag, int fd, int error);

/* The helper says that the file of this number may have changed. */
void cluster_runtime_changed(struct cluster_runtime *s, uint32_t file);

/* Carries out what was ordered of a watch, such as a relist. Returns false if the watch is not one
 * of this cluster. */
bool cluster_runtime_poke(struct cluster_runtime *s, struct watch *w);

/* Starts a comparison of a watch with the server now. Returns false if the watch is not one of this
 * cluster. */
bool cluster_runtime_verify(struct cluster_runtime *s, struct watch *w);

/* The servers and their health; borrowed, and valid until the loop goes on. */
const struct servers *cluster_runtime_servers(const struct cluster_runtime *s);

/* The client that the requests of this cluster go through; never NULL. */
struct api_client *cluster_runtime_client(const struct cluster_runtime *s);

/* NULL until the credentials are there. Valid until cluster_runtime_stop(). */
struct discovery_driver *cluster_runtime_discovery(const struct cluster_runtime *s);

/* When the last bytes of a response came, in the time of loop_now_ms(); 0 = never. */
uint64_t cluster_runtime_contact_ms(const struct cluster_runtime *s);

/* How many sets of credentials there are: servers that have the same ones share a login. */
size_t cluster_runtime_login_count(const struct cluster_runtime *s);

/* When the credentials of a login that are in use expire. Valid until cluster_runtime_dispose(). */
const struct expiry *cluster_runtime_expiry(const struct cluster_runtime *s, size_t login);

/* Why credentials of a login cannot be read or used; NULL = they can. Valid until the loop runs
 * on. */
const char *cluster_runtime_credential_trouble(const struct cluster_runtime *s, size_t login);

/* Ends all requests and drivers of watches: no event comes from them any more. Credentials and
 * connections stay until cluster_runtime_dispose(). */
void cluster_runtime_stop(struct cluster_runtime *s);

/* The end for the user: *s is NULL, and no event comes any more. NULL is fine. */
void cluster_runtime_dispose(struct cluster_runtime **s);

#endif
