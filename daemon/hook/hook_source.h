/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hook_source - a watch or a view that a hook uses, under the name in the configuration; pure.
 * Watches that differ in nothing but their names are one watch with several names.
 */
#ifndef HOOK_HOOK_SOURCE_H
#define HOOK_HOOK_SOURCE_H

#include <stdbool.h>
#include <stddef.h>

#include "cache/source.h"

/* A source of one hook. */
struct hook_source {
    const char *name;
    struct source of; /* borrowed: must outlive the hook */
    bool stale;       /* as hooks_stale() said last */
    /* The last snapshot lacked this source, which an earlier process had seen; set by hook/gate. */
    bool is_lacked;
};

/* Copies n sources with their names into one block, which the caller frees with free(). */
struct hook_source *hook_source_copy(const struct hook_source *v, size_t n);

#endif
