/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hook_source - what a hook looks at, under the name the configuration gives it: watches that are
 * equal but for their names are one watch with several names; pure. Everything that hooks want to
 * know of a source is asked here.
 */
#ifndef HOOK_HOOK_SOURCE_H
#define HOOK_HOOK_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cache/watch.h"

struct hook_source {
    const char *name;
    struct watch *watch; /* must outlive the hook */
    bool stale;          /* as its watch said last; set by the hook */
};

/* Copies n sources with their names into one block; the caller frees it. */
struct hook_source *hook_source_copy(const struct hook_source *v, size_t n);

/* Is it this watch, under any name? */
bool hook_source_is(const struct hook_source *s, const struct watch *w);

/* The name of its cluster. */
const char *hook_source_cluster(const struct hook_source *s);

/* What it holds, as people write it: "secrets". */
const char *hook_source_resource(const struct hook_source *s);

/* May its content be shown to hooks (DESIGN 1.4.1)? */
bool hook_source_synced(const struct hook_source *s);

/* What it holds. */
const struct store *hook_source_store(const struct hook_source *s);

/* As watch_status(). */
struct watch_status hook_source_status(const struct hook_source *s, uint64_t now_ms);

#endif
