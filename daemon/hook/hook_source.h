/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hook_source - what a hook looks at, a watch or a view, under the name the configuration gives it:
 * watches that are equal but for their names are one watch with several names; pure.
 */
#ifndef HOOK_HOOK_SOURCE_H
#define HOOK_HOOK_SOURCE_H

#include <stdbool.h>
#include <stddef.h>

#include "cache/source.h"

struct hook_source {
    const char *name;
    struct source of; /* must outlive the hook */
    bool stale;       /* as it said last; set by the hook */
    bool is_lacked;   /* a snapshot was told without it, that a process before knew; set by gate */
};

/* Copies n sources with their names into one block; the caller frees it. */
struct hook_source *hook_source_copy(const struct hook_source *v, size_t n);

#endif
