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
    struct persist_watch *watches; /* one of each group of equal watches */
    size_t watch_count;
    struct persist_hook *hooks; /* as of->v */
    struct hooks *of;
    struct view *const *views;
    size_t view_count;
    struct persist_cluster *clusters; /* as params.clusters */
    size_t cluster_count;
    struct stray_left *left;
    size_t left_count;
    struct ids *ids;
    struct list dirty; /* scopes with objects in the batch, whose version is not yet in it */
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

/* Puts what has changed in hooks since the last call: delivery records, files. Returns true if the
 * batch must be on disk at the end of the turn (persist_hook_put()). */
bool persist_put_hooks(struct persist *p, struct batch *b);

/* Puts versions that moved on by bookmarks alone, and the times of contact. all: also contacts that
 * are less than a minute newer than those on disk, for the last write of the process. */
void persist_sweep(struct persist *p, struct persist_now now, bool all, struct batch *b);

/* The file was damaged or taken away, and begins anew: puts all rows but those of
 * persist_put_hooks(), which puts everything again at its next call. */
void persist_lost(struct persist *p, struct persist_now now, struct batch *b);

/* Forgets all that is known of a watch: in its rows, in the watch itself, in views of it, and in
 * the hooks that have it or such a view as a source. */
void persist_forget(struct persist *p, struct persist_watch *mw, struct batch *b);

#endif
