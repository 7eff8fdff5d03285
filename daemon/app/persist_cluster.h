/* SPDX-License-Identifier: Apache-2.0 */
/*
 * persist_cluster - one cluster and the restored objects of its watches: from which cluster they
 * are, and whether and when hooks may get them although no server has answered
 * (docs/design.md "Stale start", "Cluster identity"); a part of persist.
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

/* Everything is borrowed, and must outlive the object except where a comment says otherwise. */
struct persist_cluster_params {
    struct loop *loop;
    const char *boot_id; /* "" = not known */
    const struct conf *conf;
    size_t index; /* in conf->clusters */
    struct sources *sources;
    struct persist_watch *watches; /* of all clusters */
    size_t watch_count;
    const struct restore *restore; /* until persist_cluster_create() returns */
    struct ids *ids;               /* until persist_cluster_create() returns */
};

/* The decisions. They are made on a stack of the loop. */
struct persist_cluster_events {
    /* The objects of the watch, and all that hooks know of them, are from another cluster: forget
     * both, whether the watch is followed already or not. */
    void (*on_foreign)(void *arg, struct persist_watch *mw);
    /* For one watch at least the cluster is another one than before: items that no configuration
     * uses now may be of the old cluster. Comes before on_foreign. */
    void (*on_replaced)(void *arg);
    /* The identity of the cluster to keep from now on (cluster_identity_put()). */
    void (*on_identity)(void *arg, size_t index, const struct cluster_identity *id);
    /* Hooks may have something to do. */
    void (*on_progress)(void *arg);
};

/* Takes what the state knows of the cluster. Call it after the watches have loaded their objects.
 * Never NULL; release with persist_cluster_dispose(). events must outlive the object. */
struct persist_cluster *persist_cluster_create(const struct persist_cluster_params *params,
                                               const struct persist_cluster_events *events,
                                               void *arg);

/* Has the servers asked which cluster they are. Watches that have loaded objects wait for the
 * answer. Call it before the loop runs. */
void persist_cluster_follow(struct persist_cluster *c, struct cluster_runtime *cluster_runtime);

/* A person decides about another cluster that answers and is held. accept: everything that is known
 * of the old cluster is forgotten (on_foreign, for each watch with objects of that cluster), and
 * hooks learn of the new objects as at a first start. Without accept the cluster stays held.
 * Returns false if no cluster is held. */
bool persist_cluster_accept(struct persist_cluster *c, bool accept);

/* Must runs wait for this cluster to say which one it is? They must when first lists have come and
 * nothing was known of the cluster before; for a second at most, and on_progress tells the end of
 * the wait. */
bool persist_cluster_awaits(struct persist_cluster *c);

/* The identity of the cluster, for a file that begins anew; NULL: no server has been asked
 * successfully yet. Borrowed. */
const struct cluster_identity *persist_cluster_id(const struct persist_cluster *c);

/* The trouble with the cluster, for people; NULL = no trouble. Valid until the next call, or until
 * the loop goes on. */
const char *persist_cluster_trouble(struct persist_cluster *c);

/* The end for the user: *c is NULL, and no event comes any more. NULL is fine. */
void persist_cluster_dispose(struct persist_cluster **c);

#endif
