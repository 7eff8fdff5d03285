/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch_params - the settings that a watch is made from, those of its cluster included; pure.
 */
#ifndef CACHE_WATCH_PARAMS_H
#define CACHE_WATCH_PARAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cache/guard.h"
#include "cache/reflector_params.h"
#include "kube/shape.h"

/* Everything is copied. */
struct watch_params {
    const char *name;
    const char *cluster;
    const char *resource;          /* as resource_parse() takes it */
    const char *const *namespaces; /* empty, or "*" alone = all (cluster-scoped: empty) */
    size_t namespace_count;
    const char *const *names; /* empty = all */
    size_t name_count;
    const char *label_selector; /* "" = none */
    const char *field_selector;
    struct shape_params shape; /* keep, drop, match */
    size_t object_size;
    struct reflector_params reflector;
    struct guard_params guard;
    uint64_t bookmark_timeout_ms;
    uint64_t list_idle_timeout_ms;
    uint64_t stale_after_ms; /* a scope whose stream is lost for longer makes the watch stale */
    bool confirm_deletes;
    uint64_t seed;
};

#endif
