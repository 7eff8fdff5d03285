/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hook - all configured hooks with their queues and the schedule they share; pure. Deltas go in,
 * runs come out: "what may start now", and "when to ask again".
 */
#ifndef HOOK_HOOK_H
#define HOOK_HOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cache/watch.h"
#include "hook/filter.h"
#include "hook/hook_source.h"
#include "hook/run.h"
#include "hook/sched.h"

enum hook_mode { HOOK_OBJECT, HOOK_SNAPSHOT };
enum hook_existing { HOOK_EXISTING_RUN, HOOK_EXISTING_SKIP };

/* Where a hook stands with its first run. */
enum hook_gate {
    GATE_CLOSED, /* a source is not synced yet: nothing runs (DESIGN 1.4.1) */
    GATE_FIRST, /* synced; mode object: an existing key has no ended run yet; snapshot: no handled one */
    GATE_OPEN,
};

struct hook_params {
    const char *name; /* copied */
    size_t index;     /* in the configuration: what the helper knows it by */
    enum hook_mode mode;
    enum hook_existing existing;
    const struct hook_source *sources; /* copied, names too */
    size_t source_count;
    struct filter filter; /* taken */
    struct lane_params lane;
};

/* Read-only outside hook.c. */
struct hook {
    char *name;
    size_t index;
    enum hook_mode mode;
    enum hook_existing existing;
    enum hook_gate gate;
    struct hook_source *sources;
    size_t source_count;
    struct filter filter;
    struct queue queue;
    struct lane lane;
    struct unit unit; /* mode snapshot */
    bool incomplete;  /* the last good run had held_back: one more is due, whatever becomes of it */
    uint64_t runs_ok;
    uint64_t runs_failed;
    uint64_t success_ms;  /* when a run last succeeded, monotonic; 0 = never */
    char last_error[200]; /* of the last failed run; "" since the last success */
};

struct hooks {
    struct hook **v;
    size_t n;
    struct sched sched;
    struct list runs; /* under way */
    uint64_t next_id;
};

/* shared_slots = limits.hook_concurrency. */
void hooks_init(struct hooks *hs, unsigned shared_slots, uint64_t seed);

/* Frees all hooks and the runs under way. */
void hooks_fini(struct hooks *hs);

/* Adds a hook. */
void hooks_add(struct hooks *hs, struct hook_params *params);

/* A watch changed: every hook with that source takes note. */
void hooks_delta(struct hooks *hs, const struct watch *w, const struct delta *d, uint64_t now_ms);

/* The watch became stale, or fresh again: hooks that take STALE or FRESH hear of it as they would of
 * the life of an object: STALE begins it, FRESH ends it (DESIGN 1.4). */
void hooks_stale(struct hooks *hs, const struct watch *w, bool stale, uint64_t wall_ns,
                 uint64_t now_ms);

/* A run that may start now, or NULL. It is under way until hooks_finish(). Also opens the gates of
 * hooks whose sources have synced. */
struct run *hooks_next(struct hooks *hs, uint64_t now_ms);

/* The run has ended; frees it. Returns in how many ms it will be tried again because it failed;
 * NEVER_MS = not for that reason. */
uint64_t hooks_finish(struct hooks *hs, struct run *run, const struct run_result *result,
                      uint64_t now_ms);

/* When to call hooks_next() again although nothing happened; NEVER_MS = never. */
uint64_t hooks_wake_ms(const struct hooks *hs);

/* Have all first runs ended, well or not (READY: DESIGN 1.6)? */
bool hooks_ready(const struct hooks *hs);

/* Keys that wait (running ones left out); mode snapshot: changed keys since the last handled run. */
size_t hook_pending(const struct hook *h);

/* For how long the oldest key that is not handled has waited, running ones included: a hook that hangs
 * is seen here; in ms, 0 = none. */
uint64_t hook_oldest_pending_ms(const struct hook *h, uint64_t now_ms);

#endif
