/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cluster - the judge of one cluster: from which cluster the restored objects of its watches are,
 * and whether and when hooks may get them although no server has answered
 * (docs/design.md "Stale start", "Cluster identity"); a part of persist; pure.
 */
#ifndef PERSIST_CLUSTER_H
#define PERSIST_CLUSTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kube/cluster_identity.h"
#include "persist/restore.h"
#include "persist/watch.h"

struct persist;

/* One cluster, as the configuration has it. */
struct persist_cluster_params {
    const char *name; /* borrowed */
    /* How long after the start watches begin stale if no server answers; 0 = they wait. */
    uint64_t stale_after_ms;
    uint64_t stale_max_age_ms; /* of the last contact with a server */
};

enum persist_cluster_state {
    /* No objects were loaded: any cluster will do, and is asked after the first lists. */
    PERSIST_CLUSTER_EMPTY,
    PERSIST_CLUSTER_AWAITED, /* EMPTY, and first lists have come: runs wait for the answer */
    PERSIST_CLUSTER_SILENT,  /* EMPTY, and no answer came in time: runs do not wait any more */
    PERSIST_CLUSTER_WAITING, /* objects were loaded, and no server has said which cluster it is */
    PERSIST_CLUSTER_KNOWN,   /* the cluster has answered */
    /* Another cluster answers than hooks know: nothing is taken from it. */
    PERSIST_CLUSTER_HELD,
};

struct persist_cluster {
    struct persist_cluster_params params;
    uint64_t item;                  /* in the state */
    struct cluster_identity id;     /* all that is known of the cluster */
    struct cluster_identity answer; /* the last answer of a server */
    enum persist_cluster_state state;
    /* When persist_tick() has something to do, on the clock of persist_now.ms; 0 = never. AWAITED:
     * the end of the wait; WAITING, KNOWN: the stale start; HELD: the next question. */
    uint64_t due_ms;
    char trouble[512]; /* "" = none */
};

/* Takes the rows that the state has of the cluster p->clusters[cluster], and makes its row if that is
 * missing. Call it after the watches have loaded their objects. */
void persist_cluster_load(struct persist *p, size_t cluster,
                          const struct persist_cluster_params *params, const struct restore *r,
                          struct persist_now now, struct batch *b);

/* Are the clusters of these names one? By the identities that servers have told, or r has; r may be that
 * of a start or the rest of a reload. */
enum cluster_identity_relation persist_cluster_compare(const struct persist *p,
                                                       const struct restore *r, const char *a,
                                                       const char *b) MUST_CHECK;

/* A reload has added the cluster p->clusters[cluster]: as persist_cluster_load(), but the state is not
 * read, so that the cluster counts as a new one. */
void persist_cluster_add(struct persist *p, size_t cluster,
                         const struct persist_cluster_params *params, struct batch *b);

/* A reload has added a watch, and hooks know objects of it (LOADED). Shows them if the cluster is
 * known. Returns true if the watch must be held back until it is. */
bool persist_cluster_begin(struct persist *p, struct persist_watch *mw, struct persist_now now);

/* Puts the identity, if a server has told it, in this process or an earlier one. */
void persist_cluster_put(const struct persist_cluster *c, struct batch *b);

enum persist_verdict {
    PERSIST_VERDICT_HELD,     /* another cluster answers: nothing is taken from it */
    PERSIST_VERDICT_GOOD,     /* the watches of the cluster may begin */
    PERSIST_VERDICT_RELEASED, /* GOOD, and watches that wait because of HELD may go on at once */
};

/* A server has answered; id is all that is known of the cluster behind it. Unless the answer is
 * held, watches with restored objects show them to hooks and views, or, if these objects are from
 * another cluster, everything that is known of them is forgotten. *err is set (ERR_FOREIGN) for
 * HELD. */
enum persist_verdict persist_judge(struct persist *p, size_t cluster,
                                   const struct cluster_identity *id, struct persist_now now,
                                   struct batch *b, struct err *err);

/* A person accepts the cluster that is HELD: everything that is known of the old one is forgotten,
 * and hooks learn of the new objects as at a first start. All watches of the cluster may begin, and
 * are to be listed (list_watch_is_ordered()). */
void persist_accept(struct persist *p, size_t cluster, struct batch *b);

/* Must runs wait for this cluster to say which one it is? They must when first lists have come and
 * no objects were loaded; for a second at most. is_heard: a server of it has sent
 * anything. May set due_ms. */
bool persist_awaits(struct persist *p, size_t cluster, bool is_heard, uint64_t now_ms);

/* The time due_ms of the cluster has come. Returns true if its servers are to be asked again which
 * cluster they are; false: runs do not wait any more, or watches began stale, so that hooks may have
 * something to do. */
bool persist_tick(struct persist *p, size_t cluster, struct persist_now now);

/* The trouble with the cluster, for people; NULL = no trouble. why: why the last question has
 * failed, NULL = none has. Valid until the next call. */
const char *persist_trouble(struct persist *p, size_t cluster, const char *why);

#endif
