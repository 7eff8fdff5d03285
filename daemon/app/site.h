/* SPDX-License-Identifier: Apache-2.0 */
/*
 * site - one cluster with all that hangs on it: connections, credentials, discovery, and the
 * watches that are followed there.
 */
#ifndef APP_SITE_H
#define APP_SITE_H

#include <stdbool.h>
#include <stdint.h>

#include "app/access.h"
#include "cache/watch.h"
#include "conf/conf.h"
#include "kube/cluster_id.h"

struct helper_link;
struct loop;
struct site;

/* Borrowed; must outlive the site. */
struct site_params {
    struct loop *loop;
    struct helper_link *link;
    const struct conf_cluster *conf;
    const struct access *access;
    const char *user_agent;
    uint64_t tag; /* of its credentials: CRED_ITEMS numbers from here on */
    uint64_t seed;
};

/* Runs on the stack of a callback of the loop. */
struct site_events {
    void (*on_progress)(void *arg); /* deltas may have run, a watch may be synced or stale */
};

/* Loads the credentials. Never NULL. events must outlive it. */
struct site *site_create(const struct site_params *params, const struct site_events *events,
                         void *arg);

/* A watch to follow as soon as the credentials are there; audit_ms 0 = no audits. */
void site_add(struct site *s, struct watch *w, uint64_t audit_ms);

/* id is all that can be known of the cluster behind the servers now. False: it is not the one whose watches
 * these are, *err says so (ERR_FOREIGN), and nothing is taken from it. Runs on the stack of a callback
 * of the loop; may do anything but dispose the site or drop its requests. */
typedef bool site_judge_cb(void *arg, const struct cluster_id *id, struct err *err);

/* Has the servers asked which cluster they are, and the judge about each answer: as the first request of
 * all if a watch is held back, else before the first watch; and again whenever that may have changed
 * (io/vouch). Before the loop runs. */
void site_identify(struct site *s, site_judge_cb *judge, void *arg);

/* Has them asked once more now. Nothing happens if they are being asked. */
void site_identify_again(struct site *s);

/* The right cluster answers again: what waits for that tries at once. */
void site_retry(struct site *s);

/* What keeps them from an answer to that, for people; NULL = nothing that is known. Valid until the
 * loop goes on. */
const char *site_identity_trouble(const struct site *s);

/* A watch of its own that holds what a cluster had before: not followed before site_follow().
 * Before the loop runs. */
void site_hold_back(struct site *s, const struct watch *w);

/* A watch that was held back may be followed: inside cb of site_identify(), or later. */
void site_follow(struct site *s, const struct watch *w);

/* What the helper opened for its credentials. */
void site_opened(struct site *s, uint64_t tag, int fd, int error);

/* Carries out what was ordered of a watch of its own; false: it is another's. */
bool site_poke(struct site *s, struct watch *w);

/* Compares a watch of its own with the server now; false: it is another's. */
bool site_verify(struct site *s, struct watch *w);

/* When (loop_now_ms) part of a response came last; 0 = never. */
uint64_t site_contact_ms(const struct site *s);

/* No requests any more: nothing comes from it from here on. */
void site_stop(struct site *s);

/* The end for the user: *s is NULL. NULL is fine. */
void site_dispose(struct site **s);

#endif
