/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source - a watch or a view, for hooks and readers that treat both alike; pure.
 */
#ifndef CACHE_SOURCE_H
#define CACHE_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

#include "cache/source_status.h"

struct object;
struct store;
struct view;
struct watch;

/* A handle, passed by value; one of the two is NULL. Valid as long as the watch or view is. */
struct source {
    const struct watch *watch;
    const struct view *view;
};

/* Are both the same watch, or the same view? */
bool source_equal(struct source a, struct source b);

/* The setting's name; of a watch with several names, the first one. */
const char *source_name(struct source c);
/* The name of its cluster. */
const char *source_cluster(struct source c);

/* May the source be shown to hooks (docs/design.md "Synced")? Stays true. */
bool source_synced(struct source c);

/* The store with its objects. */
const struct store *source_store(struct source c);

/* Calls fn for each object as deltas have told it (watch_each()). */
void source_each(struct source c, void (*fn)(void *arg, struct object *o), void *arg);

/* Is it stale, as on_stale has told last? */
bool source_stale(struct source c);

/* Does limits.memory keep objects out of it, as on_incomplete has told last? */
bool source_incomplete(struct source c);

/* The status of the source now, on the monotonic clock. */
struct source_status source_status(struct source c, uint64_t now_ms);

#endif
