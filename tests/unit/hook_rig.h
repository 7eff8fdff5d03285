/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hook_rig - hooks over a few watches in virtual time: a test changes the caches, starts runs and
 * ends them by hand; pure.
 */
#ifndef UNIT_HOOK_RIG_H
#define UNIT_HOOK_RIG_H

#include "objects.h"

#include "hook/hook.h"

enum { HOOK_RIG_WATCHES = 3, HOOK_RIG_ALL = 0x3f, HOOK_RIG_INITIAL_MS = 1000 };

struct hook_rig {
    struct hooks hooks;
    struct watch *watches[HOOK_RIG_WATCHES];
    uint64_t now;
};

/* The rig of the test that runs now. */
extern struct hook_rig hook_rig;

/* The parameters of a hook; 0 and NULL stand for values that a test seldom cares for. */
struct hook_rig_hook {
    struct hook_rules rules;      /* without arrays */
    unsigned events;              /* 0 = all */
    const char *path;             /* of changes_in; NULL = any value counts */
    size_t sources;               /* how many; 0 = 1 */
    const struct hook_source *of; /* the sources; NULL = the first watches, "one", "two", "three" */
    int park_exit;                /* 0 = none */
    size_t after;                 /* the place of the hook that comes first, plus 1; 0 = none */
    struct work_queue_params
        work_queue;     /* concurrency 0 = 8; retry.initial_ms 0 = 1 s, 2 s, ... 8 s */
    const char *output; /* NULL = none */
    bool from_members;  /* files_from */
    bool applies;
    /* like work_queue, but concurrency 0 = 1; settle_max_ms 0 = settle [200, 2000] */
    struct work_queue_params apply;
    const char *apply_key; /* hooks with the same key share their apply; NULL = shares it not */
    uint64_t timeout_ms;
};

/* Sets up hook_rig without hooks, with so many shared slots, and with watches that have this
 * subscriber, with the struct hooks as arg; NULL = nobody listens to them. clusters: the name of the
 * cluster of each watch; NULL = all are of cluster "c". Free it with hook_rig_clean_up(). */
void hook_rig_init(unsigned shared_slots, const struct subscriber *subscriber,
                   const char *const *clusters);

/* The setup of a test with cmocka: hook_rig_init() with 4 shared slots, and nobody listens to the
 * watches. */
int hook_rig_set_up(void **state);

/* The teardown of a test with cmocka: frees the hooks and the watches. */
int hook_rig_clean_up(void **state);

/* Adds a hook as the next one, "h0", "h1", ... */
struct hook *hook_rig_add(const struct hook_rig_hook *p);

/* The watch has been listed and is empty; the hooks get objects by hook_rig_change() alone. */
void hook_rig_sync(size_t watch);

/* The caches have changed. */
void hook_rig_change(size_t watch, enum delta_type type, const char *key, const char *uid,
                     const char *data);

/* The watch became stale or fresh. */
void hook_rig_stale(size_t watch, bool is);

/* Nothing may start now. */
void hook_rig_nothing(void);

/* Nothing may start now, nor before ms; then moves the clock to ms. */
void hook_rig_waits_until(uint64_t ms);

/* The run that starts now. */
struct run *hook_rig_next(void);

/* The run that starts now has this one event. */
struct run *hook_rig_starts(enum delta_type type, const char *uid);

/* The run that starts now has this one event, reason and attempt. */
struct run *hook_rig_starts_as(enum delta_type type, const char *uid, enum run_reason reason,
                               unsigned attempt);

/* A hook of the first watch, which is listed. It has handled u1 of ns/a, with this data. */
struct hook *hook_rig_add_handled(const struct hook_rig_hook *p, const char *data);

/* Asserts on an event of a run. */
void hook_rig_event_is(const struct run *run, size_t i, enum delta_type type, const char *uid);

/* The run ends with a status. */
struct hooks_verdict hook_rig_end(struct run *run, int status);

/* The run succeeds, and its file became so; number stands for the bytes of the file. */
void hook_rig_end_file(struct run *run, enum run_stage became, uint64_t number);

/* The run that starts now is one of apply. */
struct run *hook_rig_applies(enum run_reason reason, unsigned attempt);

/* The last manual run of the hook. */
const struct manual_run *hook_rig_manual_run(const struct hook *h);

/* hook_rig_starts(); the run succeeds, and the hook needs no other try. */
void hook_rig_pass(enum delta_type type, const char *uid);

/* hook_rig_starts(), then it fails with status 1; its reason and attempt were these. */
void hook_rig_fail(enum delta_type type, const char *uid, enum run_reason reason, unsigned attempt);

#endif
