/* SPDX-License-Identifier: Apache-2.0 */
/*
 * persist_cluster - one cluster and what is kept of its watches: whose it is, whether it may be used
 * before anybody has answered, and when (docs/design.md "Stale start", "Cluster identity"); for
 * memory.
 */
#ifndef APP_PERSIST_CLUSTER_H
#define APP_PERSIST_CLUSTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "app/cluster_runtime.h"
#include "app/persist_watch.h"
#include "app/restore.h"
#include "app/sources.h"
#include "conf/conf.h"
#include "io/state_driver.h"
#include "kube/cluster_identity.h"

struct deadline;
struct loop;
struct persist_cluster;

/* What a cluster has to do with; borrowed. */
struct persist_cluster_params {
    struct loop *loop;
    const char *boot_id; /* "" = not known */
    const struct conf *conf;
    size_t index; /* in conf->clusters */
    struct sources *sources;
    struct persist_watch *watches; /* of all clusters */
    size_t watch_count;
    const struct restore *restore; /* while it is created only */
    struct ids *ids;               /* the same */
};

/* What it decides; on a stack of the loop. */
struct persist_cluster_events {
    /* What the watch, and what hooks know of it, is another cluster's: to be forgotten, be it followed or
     * not. */
    void (*on_foreign)(void *arg, struct persist_watch *mw);
    /* The cluster is another one than before, to one watch at least: what nobody uses now may be of
     * the one before. Before on_foreign. */
    void (*on_replaced)(void *arg);
    /* The identity to be kept from now on (cluster_identity_put()). */
    void (*on_identity)(void *arg, size_t index, const struct cluster_identity *id);
    /* Hooks may have something to do. */
    void (*on_progress)(void *arg);
};

/* Takes over what is known of it; after the watches have loaded. Never NULL. */
struct persist_cluster *persist_cluster_create(const struct persist_cluster_params *params,
                                               const struct persist_cluster_events *events,
                                               void *arg);

/* Has its servers asked who they are; watches that have loaded something wait for that. Before the
 * loop runs. */
void persist_cluster_follow(struct persist_cluster *c, struct cluster_runtime *cluster_runtime);

/* A person decides about another cluster that answers and is held. Accepted: everything known of the one
 * before is forgotten (on_foreign, for each watch), and learned as at a first start. False: none is. */
bool persist_cluster_accept(struct persist_cluster *c, bool accept);

/* Is it to be waited for its answer: have first lists come, of something that nothing was known of?
 * For a second at most; on_progress tells the end of it. */
bool persist_cluster_awaits(struct persist_cluster *c);

/* The identity that is known, for a file that begins anew; NULL: it was never said. */
const struct cluster_identity *persist_cluster_id(const struct persist_cluster *c);

/* What is wrong, for people; NULL = nothing. Valid until the next call, or until the loop goes on. */
const char *persist_cluster_trouble(struct persist_cluster *c);

/* The end for the user: *c is NULL. NULL is fine. */
void persist_cluster_dispose(struct persist_cluster **c);

#endif
