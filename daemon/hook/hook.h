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

#include "cache/delta.h"
#include "cache/source.h"
#include "hook/apply.h"
#include "hook/files.h"
#include "hook/history.h"
#include "hook/hook_params.h"
#include "hook/manual_runs.h"
#include "hook/run.h"
#include "hook/strays.h"

/* Where a hook stands with its first run. */
enum hook_gate {
    GATE_CLOSED, /* too few sources are synced, or another hook comes first:
                    docs/design.md "First runs" */
    GATE_FIRST,  /* open; object: an existing key has no ended run yet; else: no handled one */
    GATE_APPLY,  /* those have ended; what they wrote has not been applied yet, well or not */
    GATE_OPEN,
};

/* Read-only outside hook/. */
struct hook {
    char *name;
    size_t index;
    struct hook_rules rules;
    enum hook_gate gate;
    struct hook_source *sources;
    size_t source_count;
    struct filter filter;
    struct delivery_queue queue;
    struct work_queue work_queue;
    struct work_item work_item; /* batch, snapshot */
    struct files files;
    struct strays strays;
    struct apply apply;
    bool paused;
    bool snapshot_due;     /* snapshot: one more run is due, whatever becomes of the changes */
    bool restored;         /* an earlier process had it (hook/hook_record) */
    bool renew;            /* batch, snapshot: what it did is gone, and no run has succeeded */
    const char *renew_why; /* constant, what is gone or new, for people; NULL = not known */
    struct manual_runs manual_runs;
    struct history history;
    uint64_t runs_ok;
    uint64_t runs_failed;
    uint64_t trim_ms;         /* batch, snapshot, parked: when hook_parked_trim() is due */
    uint64_t forgotten;       /* ends that were parked and then given up; over restarts */
    char last_forgotten[320]; /* the last key of them; cut if it is longer */
    uint64_t given_up;        /* of those the ones that parked a unit though no park_exit said so */
    uint64_t success_ms;      /* when a run last succeeded, monotonic; 0 = never */
    char last_error[200];     /* of the last failed or denied run; "" since the last success */
};

struct hooks {
    struct hook **v;
    size_t n;
    struct scheduler scheduler;
    struct list runs; /* under way */
    uint64_t next_id;
};

/* shared_slots = limits.hook_concurrency. */
void hooks_init(struct hooks *hs, unsigned shared_slots, uint64_t seed);

/* Frees all hooks and the runs under way. */
void hooks_fini(struct hooks *hs);

/* Adds a hook. */
void hooks_add(struct hooks *hs, struct hook_params *params);

/* A hook by its name, or NULL. */
struct hook *hooks_find(const struct hooks *hs, struct str name);

/* A source changed: every hook with that source takes note. */
void hooks_delta(struct hooks *hs, struct source from, const struct delta *d, uint64_t now_ms);

/* A source became stale, or fresh again: hooks that take STALE or FRESH hear of it as they would of
 * an incarnation of an object: STALE begins it, FRESH ends it (docs/design.md "Events"). */
void hooks_stale(struct hooks *hs, struct source from, bool stale, uint64_t wall_ns,
                 uint64_t now_ms);

/* A source is another cluster's by now, and empty: all that the hooks know of it is forgotten without a word,
 * runs under way count for nothing, and what it says next is heard as at a first start. */
void hooks_forget(struct hooks *hs, struct source from);

/* A run that may start now, or NULL. It is under way until hooks_finish(). Also opens the gates of
 * hooks whose sources have synced. */
struct run *hooks_next(struct hooks *hs, uint64_t now_ms);

/* The program of a run begins now, later than hooks_next() gave it. */
void hooks_began(struct run *run, uint64_t now_ms);

/* What the end of a run led to. */
struct hooks_verdict {
    enum history_outcome outcome;
    uint64_t retry_ms; /* it will be tried again in so long, as it failed; NEVER_MS = it will not */
};

/* The run has ended; frees it. One that ended with RUN_NOT_STARTED was none: it counts for nothing and
 * is not in the history; its outcome is HISTORY_FAILED. */
struct hooks_verdict hooks_finish(struct hooks *hs, struct run *run,
                                  const struct run_result *result, uint64_t now_ms);

/* When to call hooks_next() again although nothing happened; NEVER_MS = never. */
uint64_t hooks_wake_ms(const struct hooks *hs);

/* Lets no run of the hook start, or lets them start again. */
void hook_pause(struct hook *h, bool paused);

/* A person wants a run now: of one key (object), of all (key.p NULL), or of the hook (batch,
 * snapshot: key.p NULL). It is the last one of h->orders. ERR_BUSY: paused, its first run is not
 * due yet, it waits for stale sources, or too many wait already; ERR_NOT_FOUND: there is nothing to
 * tell; ERR_CONFIG: the mode knows no keys. */
enum err_kind hook_run_manually(struct hook *h, struct str key, struct err *err) MUST_CHECK;

/* Is the hook paused, or may it not begin before one that is (after)? Nobody waits for it then. */
bool hook_waits_for_people(const struct hooks *hs, const struct hook *h);

/* Have all first runs ended, well or not (docs/design.md "Readiness")? Those of paused hooks are
 * not waited for. */
bool hooks_ready(const struct hooks *hs);

/* The same for one hook. */
bool hook_first_ended(const struct hook *h);

/* Is nothing running or to be applied, and nothing due but what is parked, paused, and reruns? */
bool hooks_quiet(const struct hooks *hs);

/* Keys that wait (running and parked ones left out); batch and snapshot: changed keys since the
 * last handled run. Files that wait to be applied are one more. */
size_t hook_pending(const struct hook *h);

/* Runs under way. */
unsigned hook_running(const struct hook *h);

/* Units whose last run the system had no means to start, apply included. */
size_t hook_not_started(const struct hook *h);

/* Why the last run, or that of apply, failed: "apply: exit status 1"; NULL = both succeeded. */
const char *hook_last_error(const struct hook *h);

/* Parked units, apply included. */
size_t hook_parked(const struct hook *h);

/* For how long the oldest key that is neither handled nor parked has waited, running ones included,
 * or the oldest file to be applied: a hook that hangs is seen here; in ms, 0 = none. */
uint64_t hook_oldest_pending_ms(const struct hook *h, uint64_t now_ms);

#endif
