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

/* loop and link must outlive the object. All else is copied: the configuration may be freed after
 * cluster_runtime_create() and cluster_runtime_change(). */
struct cluster_runtime_params {
    struct loop *loop;
    struct helper_link *link;
    const struct conf_cluster *conf;
    const struct cluster_access *cluster_access;
    const char *user_agent;
    /* Its credential files have CLUSTER_RUNTIME_TAGS tags from this one on with the helper. No other
     * call of cluster_runtime_create() or cluster_runtime_change() may ever have one of them. */
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
     * why some of them cannot be used, after each try. It does not come for a later
     * cluster_runtime_change(). Must not dispose the object. NULL = not wanted. */
    void (*on_credentials)(void *arg, const struct err *err);
};

/* Starts to load the credentials; requests begin when they are there. Never NULL; release with
 * cluster_runtime_dispose(). events must outlive the object. */
struct cluster_runtime *cluster_runtime_create(const struct cluster_runtime_params *params,
                                               const struct cluster_runtime_events *events,
                                               void *arg);

/* Gives the cluster other settings: those of params, whose loop, link and seed do not count. To be
 * called for each cluster that stays, also an unchanged one, right after helper_link_commit(), because
 * files and plugins have other numbers with the helper since.
 *
 * If only these numbers differ from the newest settings, nothing else happens, and params->tag is not
 * used. Else the old way to the servers goes on until all new credentials are there; their troubles
 * are in the log and in cluster_runtime_credential_trouble() meanwhile. If they never come, it goes on
 * for ever. Then requests take the new way, and watches move to it as they move to renewed credentials:
 * the open one goes on until the new one is served, and no list is needed. Servers are asked which
 * cluster they are before anything is taken from them; if it is another one (the judge says so), open
 * watches stay where they are. The last call wins, whether earlier ones have come to an end or not.
 * While credentials are awaited, the old way reads only those of its files that the new settings have
 * too.
 *
 * No event comes inside the call. Not to be called inside the judge. */
void cluster_runtime_change(struct cluster_runtime *s, const struct cluster_runtime_params *params);

/* Adds a watch, at any time: it is followed as soon as the credentials are there, else at once, with
 * its first request in a later turn. audit_ms: the interval of audits, 0 = none. w must outlive the
 * object, or be removed. */
void cluster_runtime_add(struct cluster_runtime *s, struct watch *w, uint64_t audit_ms);

/* A watch of this cluster is not followed any more, whatever it is about to do: its requests end, and
 * no event comes from it. The caller may destroy it then. Other watches notice nothing. Not to be
 * called inside the judge, as the next two. */
void cluster_runtime_remove(struct cluster_runtime *s, const struct watch *w);

/* As cluster_runtime_remove(old) and cluster_runtime_add(w), but if old is held back, w is so too, and
 * begins stale if old has. w resumes from the points that watch_inherit() has given it. */
void cluster_runtime_replace(struct cluster_runtime *s, const struct watch *old, struct watch *w,
                             uint64_t audit_ms);

/* Another interval of the audits of a watch of this cluster; one that is under way goes on. */
void cluster_runtime_set_audit(struct cluster_runtime *s, const struct watch *w, uint64_t audit_ms);

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
 * from another cluster. After cluster_runtime_identify(), and in the turn of the loop in which it was
 * added. If the cluster runs, the servers are asked now. */
void cluster_runtime_hold_back(struct cluster_runtime *s, const struct watch *w);

/* Starts to follow a watch that was held back; does nothing for other watches. Call it inside of
 * the judge, or later. */
void cluster_runtime_follow(struct cluster_runtime *s, const struct watch *w);

/* The helper has opened a file, or failed with errno `error`. True: it is a credential of this cluster,
 * and fd is taken. False: the tag is none that the cluster waits for, perhaps since a
 * cluster_runtime_change(); fd is still the caller's. */
bool cluster_runtime_opened(struct cluster_runtime *s, uint64_t tag, int fd, int error);

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

/* The client that the requests of this cluster go through; never NULL. Valid until
 * cluster_runtime_change(), or until the loop runs after it. */
struct api_client *cluster_runtime_client(const struct cluster_runtime *s);

/* NULL until the credentials are there. Valid until cluster_runtime_stop(), and as the client. */
struct discovery_driver *cluster_runtime_discovery(const struct cluster_runtime *s);

/* When the last bytes of a response came, in the time of loop_now_ms(); 0 = never. */
uint64_t cluster_runtime_contact_ms(const struct cluster_runtime *s);

/* How many sets of credentials there are: servers that have the same ones share a login. Behind those
 * in use come those that cluster_runtime_change() waits for. */
size_t cluster_runtime_login_count(const struct cluster_runtime *s);

/* When the credentials of a login that are in use expire. Valid until the loop runs on, or
 * cluster_runtime_change(). */
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
