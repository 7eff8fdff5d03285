/* SPDX-License-Identifier: Apache-2.0 */
/*
 * persist - the memory of informerd over restarts (docs/design.md "State"): gives watches and hooks
 * the rows that an earlier process has left, and puts their changes into batches; pure. No other
 * module knows both the watches and hooks and the rows of state/.
 */
#ifndef PERSIST_PERSIST_H
#define PERSIST_PERSIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cache/view.h"
#include "hook/gone.h"
#include "hook/hook.h"
#include "persist/cluster.h"
#include "persist/hook.h"
#include "persist/watch.h"

/* The arrays are borrowed for the call, except views; all else must outlive the object. */
struct persist_params {
    const struct persist_cluster_params *clusters;
    size_t cluster_count;
    /* In the order of the configuration; equal watches are one watch with several names. */
    const struct persist_watch_params *watches;
    size_t watch_count;
    struct view *const *views;
    size_t view_count;
    struct hooks *hooks;
    const struct persist_hook_params *by_hook; /* as hooks->v */
};

/* Only the files of persist/ change it. */
struct persist {
    struct persist_watch **watches; /* one of each group of equal watches */
    size_t watch_count;
    struct persist_hook *hooks; /* as of->v */
    struct hooks *of;
    struct view *const *views;
    size_t view_count;
    struct persist_cluster *clusters; /* as params.clusters */
    size_t cluster_count;
    /* Hooks that are not configured any more, with the files that they have left. */
    struct gone gone;
    struct ids *ids;
    struct restore rest; /* rows of hooks and sources that are not configured now */
    struct list dirty;   /* scopes with objects in the batch, whose version is not yet in it */
};

/* Gives the rows to the watches and hooks, none of which may have begun, and takes r->ids, which is
 * NULL then. Never NULL; release with persist_destroy(). */
struct persist *persist_create(const struct persist_params *params, struct restore *r,
                               struct persist_now now, struct batch *b);

/* Frees it and sets *p to NULL. NULL is fine. */
void persist_destroy(struct persist **p);

/* Puts the versions of the scopes whose objects were put since the last call
 * (persist_watch_delta()). To be called before the batch is written. */
void persist_put_versions(struct persist *p, struct persist_now now, struct batch *b);

/* Puts the changes of hooks since the last call: delivery records, files; and drops the records of hooks
 * that a person has forgotten (hook/gone). Returns true if the batch must be on disk at the end of the
 * turn (persist_hook_put()). */
bool persist_put_hooks(struct persist *p, struct batch *b);

/* Puts versions that moved on by bookmarks alone, and the times of contact. all: also contacts that
 * are less than a minute newer than those on disk, for the last write of the process. */
void persist_sweep(struct persist *p, struct persist_now now, bool all, struct batch *b);

/* The file was damaged or taken away, and begins anew: puts all rows but those of
 * persist_put_hooks(), which puts everything again at its next call. */
void persist_lost(struct persist *p, struct persist_now now, struct batch *b);

/* The cluster of this name is another one now: the rows of watches, of its sources and of their hooks that the
 * configuration does not have are dropped from the state now. Hooks whose files are named stay. */
void persist_drop_unused(struct persist *p, const char *cluster, struct batch *b);

/* A reload has other clusters: was[i] is the place that cluster i had before, SIZE_MAX = it is new.
 * The watches of clusters that are left out must be dropped before. */
void persist_set_clusters(struct persist *p, const struct persist_cluster_params *clusters,
                          const size_t *was, size_t n, struct batch *b);

/* A reload has other views. Borrowed, as in persist_params. */
void persist_set_views(struct persist *p, struct view *const *views, size_t n);

/* A reload has added params->watch, which is not followed yet: it begins without objects. Returns
 * its entry. persist_begin_watch() follows when its hooks are there. */
struct persist_watch *persist_add_watch(struct persist *p,
                                        const struct persist_watch_params *params, struct batch *b);

/* The added watch may begin: hooks have told which keys they know. Returns true if it is to be held
 * back until its cluster has said which one it is. */
bool persist_begin_watch(struct persist *p, struct persist_watch *mw, struct persist_now now);

/* The configuration does not have the watch any more: its rows go. Its hooks keep their records, so that
 * they hear of objects that have ended if the watch comes back. */
void persist_drop_watch(struct persist *p, const struct watch *w, struct batch *b);

/* A reload puts params->watch in the place of the watch `old`, which still lives
 * (persist_watch_replaced()). The subscriptions are the caller's. */
void persist_replace_watch(struct persist *p, const struct watch *old,
                           const struct persist_watch_params *params, struct batch *b);

/* The same where `old` stays: it had several names, and this one has other settings now. */
void persist_split_watch(struct persist *p, const struct watch *old,
                         const struct persist_watch_params *params, struct batch *b);

/* The entry of a watch; NULL = there is none. */
struct persist_watch *persist_find_watch(const struct persist *p, const struct watch *w);

/* A reload has added params->hook (hooks_add()), the last of p->of: gives it the rows that an earlier
 * process has left, or this one before it dropped the hook. hook_attach() follows. */
void persist_add_hook(struct persist *p, const struct persist_hook_params *params,
                      struct persist_now now, struct batch *b);

/* The configuration does not have the retired hook any more: frees it. Its rows stay, as when a
 * restart drops it, and p->gone names its files. */
void persist_drop_hook(struct persist *p, struct hook *h, struct persist_now now, struct batch *b);

/* Puts a new hook in the place of a retired one (hooks_replace()), with its rows, and renews it if
 * params->settings are others. params->hook does not count. Returns the new hook; hook_attach()
 * follows. */
struct hook *persist_replace_hook(struct persist *p, struct hook *old, struct hook_params *hook,
                                  const struct persist_hook_params *params, struct persist_now now,
                                  struct batch *b);

/* A reload gives this name of a source to one of another cluster: hooks that have the source forget it,
 * and so do the rows of hooks that are not configured. To be called before hooks are replaced, so that
 * the new ones have no such records. */
void persist_forget_source(struct persist *p, const char *name, struct batch *b);

/* From now on the rows of all sources of this cluster are from the cluster of this name, which has said
 * which one it is. */
void persist_sources_are_of(struct persist *p, const char *cluster, struct batch *b);

/* Forgets all that is known of a watch: in its rows, in the watch itself, in views of it, and in
 * the hooks that have it or such a view as a source. */
void persist_forget(struct persist *p, struct persist_watch *mw, struct batch *b);

#endif
