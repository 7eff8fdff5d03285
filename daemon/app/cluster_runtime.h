/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cluster_runtime - one cluster with all that hangs on it: connections, credentials, discovery, and the
 * watches that are followed there.
 */
#ifndef APP_CLUSTER_RUNTIME_H
#define APP_CLUSTER_RUNTIME_H

#include <stdbool.h>
#include <stdint.h>

#include "app/cluster_access.h"
#include "cache/watch.h"
#include "conf/conf.h"
#include "kube/cluster_identity.h"

struct helper_link;
struct loop;
struct cluster_runtime;

/* Borrowed; must outlive the site. */
struct cluster_runtime_params {
    struct loop *loop;
    struct helper_link *link;
    const struct conf_cluster *conf;
    const struct cluster_access *cluster_access;
    const char *user_agent;
    uint64_t tag; /* of its credentials: CRED_ITEMS numbers from here on */
    uint64_t seed;
};

/* Runs on the stack of a callback of the loop. */
struct cluster_runtime_events {
    void (*on_progress)(void *arg); /* deltas may have run, a watch may be synced or stale */
};

/* Loads the credentials. Never NULL. events must outlive it. */
struct cluster_runtime *cluster_runtime_create(const struct cluster_runtime_params *params,
                                               const struct cluster_runtime_events *events,
                                               void *arg);

/* A watch to follow as soon as the credentials are there; audit_ms 0 = no audits. */
void cluster_runtime_add(struct cluster_runtime *s, struct watch *w, uint64_t audit_ms);

/* id is all that can be known of the cluster behind the servers now. False: it is not the one whose watches
 * these are, *err says so (ERR_FOREIGN), and nothing is taken from it. Runs on the stack of a callback
 * of the loop; may do anything but dispose the site or drop its requests. */
typedef bool cluster_runtime_judge_cb(void *arg, const struct cluster_identity *id,
                                      struct err *err);

/* Has the servers asked which cluster they are, and the judge about each answer: as the first request of
 * all if a watch is held back, else before the first watch; and again whenever that may have changed
 * (io/server_identity). Before the loop runs. */
void cluster_runtime_identify(struct cluster_runtime *s, cluster_runtime_judge_cb *judge,
                              void *arg);

/* Has them asked once more now. Nothing happens if they are being asked. */
void cluster_runtime_identify_again(struct cluster_runtime *s);

/* The right cluster answers again: what waits for that tries at once. */
void cluster_runtime_retry(struct cluster_runtime *s);

/* What keeps them from an answer to that, for people; NULL = nothing that is known. Valid until the
 * loop goes on. */
const char *cluster_runtime_identity_trouble(const struct cluster_runtime *s);

/* A watch of its own that holds what a cluster had before: not followed before cluster_runtime_follow().
 * Before the loop runs. */
void cluster_runtime_hold_back(struct cluster_runtime *s, const struct watch *w);

/* A watch that was held back may be followed: inside cb of cluster_runtime_identify(), or later. */
void cluster_runtime_follow(struct cluster_runtime *s, const struct watch *w);

/* What the helper opened for its credentials. */
void cluster_runtime_opened(struct cluster_runtime *s, uint64_t tag, int fd, int error);

/* Carries out what was ordered of a watch of its own; false: it is another's. */
bool cluster_runtime_poke(struct cluster_runtime *s, struct watch *w);

/* Compares a watch of its own with the server now; false: it is another's. */
bool cluster_runtime_verify(struct cluster_runtime *s, struct watch *w);

/* When (loop_now_ms) part of a response came last; 0 = never. */
uint64_t cluster_runtime_contact_ms(const struct cluster_runtime *s);

/* No requests any more: nothing comes from it from here on. */
void cluster_runtime_stop(struct cluster_runtime *s);

/* The end for the user: *s is NULL. NULL is fine. */
void cluster_runtime_dispose(struct cluster_runtime **s);

#endif
