/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hook_params - the parameters from which a hook is made: its rules, sources and filter; data.
 */
#ifndef HOOK_HOOK_PARAMS_H
#define HOOK_HOOK_PARAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cache/source.h"
#include "hook/filter.h"
#include "hook/scheduler.h"
#include "proto/json_path.h"

/* A watch or a view that a hook uses, under the name in the configuration. Watches that differ in
 * nothing but their names are one watch with several names. */
struct hook_source {
    const char *name;
    struct source of; /* borrowed: must outlive the hook */
    bool stale;       /* as its last on_stale said */
    bool incomplete;  /* as its last on_incomplete said */
    /* The last snapshot lacked this source, which an earlier process had seen; set by hook/gate. */
    bool is_lacked;
};

/* Does the hook start runs, and is it to stay (hook/reload)? */
enum hook_stage {
    HOOK_SERVES,
    /* A reload has made it, and its programs are being read: it takes changes, and starts no run
     * before it is known whether they renew it. */
    HOOK_STARTS,
    /* A reload drops or replaces it: it takes changes, and starts no run any more. */
    HOOK_RETIRES,
};

enum hook_mode { HOOK_OBJECT, HOOK_BATCH, HOOK_SNAPSHOT };
enum hook_existing { HOOK_EXISTING_RUN, HOOK_EXISTING_SKIP };
enum hook_require { HOOK_REQUIRE_ALL, HOOK_REQUIRE_ANY };
enum hook_when_stale { HOOK_STALE_RUN, HOOK_STALE_WAIT };

/* One of `fields`: INFORMERD_FIELD_name gets the value at a path. */
struct hook_field {
    char *name;
    struct json_path *path;
};

/* The settings of a hook, without its sources, filter and timing. */
struct hook_rules {
    enum hook_mode mode;
    enum hook_existing existing;
    enum hook_require require;
    enum hook_when_stale when_stale;
    bool include_old;
    /* Names of hooks whose first runs come first. Names, as hooks may come, go and be replaced
     * (hook/reload); one that names no hook waits for nothing. */
    char **after;
    size_t after_count;
    int *park_exit; /* exit statuses of the command that park the key */
    size_t park_exit_count;
    size_t parked_deletes;     /* at most so many parked ends (DELETED, LEFT) are kept; 0 = all */
    uint64_t parked_age_ms;    /* at most for so long; 0 = for ever */
    struct hook_field *fields; /* mode object only */
    size_t field_count;
};

/* Parameters of hooks_add(). */
struct hook_params {
    const char *name; /* copied */
    /* In the configuration; the helper knows the hook by this number. */
    size_t index;
    struct hook_rules rules; /* ownership passes to the hook, with the arrays */
    /* Copied with their names; the sources themselves are borrowed. */
    const struct hook_source *sources;
    size_t source_count;
    struct filter filter; /* passes to the hook */
    struct work_queue_params work_queue;
    /* Copied: the template of its file's path (files_init()); NULL = no output. */
    const char *output;
    bool from_members;              /* files_from: a file for each member of an object */
    bool applies;                   /* the hook has a program `apply` for its files */
    struct work_queue_params apply; /* the same for `apply`; concurrency is 1 */
    /* Equal for hooks whose program `apply` is the same in all that it can see; NULL = of no other
     * hook. Copied. */
    const char *apply_key;
    uint64_t timeout_ms; /* of a run of apply */
};

/* Frees the arrays and their elements. */
void hook_rules_fini(struct hook_rules *r);

#endif
