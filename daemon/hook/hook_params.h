/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hook_params - what a hook is made of: its rules, sources and filter; data.
 */
#ifndef HOOK_HOOK_PARAMS_H
#define HOOK_HOOK_PARAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hook/filter.h"
#include "hook/hook_source.h"
#include "hook/scheduler.h"
#include "proto/json_path.h"

enum hook_mode { HOOK_OBJECT, HOOK_BATCH, HOOK_SNAPSHOT };
enum hook_existing { HOOK_EXISTING_RUN, HOOK_EXISTING_SKIP };
enum hook_require { HOOK_REQUIRE_ALL, HOOK_REQUIRE_ANY };
enum hook_when_stale { HOOK_STALE_RUN, HOOK_STALE_WAIT };

/* One of `fields`: the value at a path becomes INFORMERD_FIELD_name. */
struct hook_field {
    char *name;
    struct json_path *path;
};

/* What the configuration says of a hook, beside its sources, filter and schedule. */
struct hook_rules {
    enum hook_mode mode;
    enum hook_existing existing;
    enum hook_require require;
    enum hook_when_stale when_stale;
    bool include_old;
    size_t *after; /* hooks, by their place in struct hooks, whose first runs come first */
    size_t after_count;
    int *park_exit; /* exit statuses */
    size_t park_exit_count;
    size_t parked_deletes;     /* so many ends that are parked are kept; 0 = all */
    uint64_t parked_age_ms;    /* and for so long; 0 = for ever */
    struct hook_field *fields; /* mode object */
    size_t field_count;
};

struct hook_params {
    const char *name;                  /* copied */
    size_t index;                      /* in the configuration: what the helper knows it by */
    struct hook_rules rules;           /* taken, with its arrays */
    const struct hook_source *sources; /* copied, names too */
    size_t source_count;
    struct filter filter; /* taken */
    struct work_queue_params work_queue;
    const char *output; /* copied: the template of its file (files_init()); NULL = none */
    bool applies;       /* what it writes is to be applied by a program */
    struct work_queue_params apply; /* of that; concurrency 1 */
};

/* Frees the arrays and what they own. */
void hook_rules_fini(struct hook_rules *r);

#endif
