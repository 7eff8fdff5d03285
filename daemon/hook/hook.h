/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hook - all configured hooks with their delivery queues, and the scheduler that they share; pure.
 * Deltas go in. The runs that may start now come out, and the time at which to ask again.
 */
#ifndef HOOK_HOOK_H
#define HOOK_HOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cache/delta.h"
#include "cache/source.h"
#include "cache/subscriber.h"
#include "hook/apply.h"
#include "hook/files.h"
#include "hook/history.h"
#include "hook/hook_params.h"
#include "hook/manual_runs.h"
#include "hook/run.h"
#include "hook/strays.h"

/* How far a hook has come with its first runs (docs/design.md "First runs"). */
enum hook_gate {
    /* Too few sources are usable, or the first runs of a hook in `after` have not ended. */
    GATE_CLOSED,
    /* The hook may run. Mode object: the first run of an existing key has not ended yet; else: a
     * run is due, and none has succeeded yet. */
    GATE_FIRST,
    /* The first runs have ended; `apply` for the files that they wrote has not, well or not. */
    GATE_APPLY,
    /* The first runs have ended, and so has their `apply`. */
    GATE_OPEN,
};

/* One hook. Read-only outside hook/. */
struct hook {
    char *name;
    size_t index;
    enum hook_stage stage;
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
    bool snapshot_due; /* snapshot: one more run is due, even if no key has a change left */
    bool restored;     /* an earlier process ran this hook (hook/hook_record) */
    bool was_parked;   /* Batch, snapshot: by an earlier process, and no run was started since */
    bool replaces;     /* a reload has put it in the place of another one (hook/reload) */
    /* Batch, snapshot: the effects of its runs are gone, and no run has succeeded since. */
    bool renew;
    const char *renew_why; /* why it was renewed, a constant text for people; NULL = not known */
    struct manual_runs manual_runs;
    struct history history;
    struct hook_figures figures;
    /* Batch, snapshot: a first run has failed, so nobody waits for one, or for its apply, any more. */
    bool first_failed;
    uint64_t trim_ms;         /* batch, snapshot, parked: when hook_parked_trim() has work */
    uint64_t forgotten;       /* parked ends (DELETED, LEFT) that were given up, by all processes */
    char last_forgotten[320]; /* the key of the last one; cut off if it is longer */
    uint64_t given_up;        /* runs that parked a work item though no park_exit asked for it */
    uint64_t success_ms;      /* when a run last succeeded, monotonic; 0 = never */
    /* Of the last run that failed or was not started; "" after a success. */
    char last_error[200];
};

/* Does the process start runs? Only the answer of `why` depends on it: the runner asks for no runs
 * unless it does. */
enum hooks_phase {
    HOOKS_RUN,
    HOOKS_STARTING, /* it is not known yet which programs have changed */
    HOOKS_STOPPING,
};

/* All hooks and their runs. */
struct hooks {
    struct hook **v; /* in no order; a replaced hook leaves its place to the new one */
    size_t n;
    struct scheduler scheduler;
    struct list runs; /* under way */
    struct list apply_groups;
    enum hooks_phase phase; /* written by io/runner */
    uint64_t next_id;
};

/* Makes it empty. shared_slots = limits.hook_concurrency (docs/design.md "Slots"); the seed is for
 * splay and for the jitter of pauses. */
void hooks_init(struct hooks *hs, unsigned shared_slots, uint64_t seed);

/* Frees all hooks and the runs that are under way. */
void hooks_fini(struct hooks *hs);

/* Adds a hook behind the others. Takes over params->rules and params->filter, which are empty
 * afterwards, and copies the rest. If its sources may have content already, hook_attach() of
 * hook/reload follows. */
struct hook *hooks_add(struct hooks *hs, struct hook_params *params);

/* The hook with this name, or NULL. */
struct hook *hooks_find(const struct hooks *hs, struct str name);

/* For the sources of hooks, with a struct hooks as arg: every hook with that source takes note of
 * the change, and hooks_next() chooses the runs. When a source becomes stale, or fresh again, the
 * outage is an incarnation for hooks that take STALE or FRESH: STALE begins it, FRESH ends it
 * (docs/design.md "Events"). */
extern const struct subscriber hooks_subscriber;

/* This source of the hook (an index) now belongs to another cluster, and is empty. The hook forgets
 * all that it knows of the source, and nothing is DELETED; the results of runs under way count for
 * nothing; objects that the source gets next are delivered as at a first start
 * (docs/design.md "Cluster identity"). */
void hooks_forget(const struct hooks *hs, struct hook *h, size_t source);

/* A run that may start now, or NULL. It is under way until hooks_finish(), which frees it.
 * hooks_next() also opens the gates of hooks whose sources have synced, gives up parked ends and
 * decides which stray files are due. */
struct run *hooks_next(struct hooks *hs, uint64_t now_ms);

/* The program of a run begins now, later than hooks_next() returned the run: the run has waited for
 * its record on disk. Its duration and min_interval count from now on. */
void hooks_began(struct run *run, uint64_t now_ms);

/* How the end of a run was judged, and what follows. */
struct hooks_verdict {
    enum history_outcome outcome;
    uint64_t retry_ms; /* the run failed and is tried again after so long; NEVER_MS = it is not */
};

/* The run has ended; frees it. A run that a shortage kept from starting counts for nothing and does
 * not enter the history; its outcome is HISTORY_FAILED. */
struct hooks_verdict hooks_finish(struct hooks *hs, struct run *run,
                                  const struct run_result *result, uint64_t now_ms);

/* When to call hooks_next() again even if nothing happens until then; NEVER_MS = never. */
uint64_t hooks_wake_ms(const struct hooks *hs);

/* Pauses the hook, so that none of its runs starts, or resumes it. Runs under way go on. */
void hook_pause(struct hook *h, bool paused);

/* A person wants a run now (informerctl run): of one key (mode object), of all keys (key.p NULL),
 * or of the hook (modes batch and snapshot: key.p NULL). On success h->manual_runs.last is its
 * number. ERR_BUSY: the hook is paused, its first run is not due yet, it waits for stale sources,
 * or too many manual runs are under way; ERR_NOT_FOUND: the hook knows of nothing to run for;
 * ERR_CONFIG: the mode knows no single keys. */
enum err_kind hook_run_manually(struct hook *h, struct str key, struct err *err) MUST_CHECK;

/* Is the hook paused, or does it wait (`after`) for the first runs of a paused hook? Neither
 * readiness nor --once waits for such a hook. */
bool hook_waits_for_people(const struct hooks *hs, const struct hook *h);

/* Does readiness wait for the first runs of this hook (docs/design.md "Readiness")? Not if they have
 * ended, well or not, or hook_waits_for_people(), or a reload lets the hook retire. */
bool hook_holds_ready(const struct hooks *hs, const struct hook *h);

/* Is that so for no hook? */
bool hooks_ready(const struct hooks *hs);

/* Have the first runs of this hook ended, well or not? */
bool hook_first_ended(const struct hook *h);

/* Is no run of the hook under way, no file left to apply, and no key due but parked ones and reruns?
 * If hook_waits_for_people(), only its runs under way count. */
bool hook_is_quiet(const struct hooks *hs, const struct hook *h);

/* Is that so for all hooks? Of a hook that retires only its runs under way count. */
bool hooks_quiet(const struct hooks *hs);

/* How many keys wait for a run, without running and parked keys; in modes batch and snapshot: how
 * many keys changed since the last handled run. Files that wait for `apply` count as one more. */
size_t hook_pending(const struct hook *h);

/* Runs under way, those of `apply` included. */
unsigned hook_running(const struct hook *h);

/* Work items whose last run did not start because the system was short of something, `apply`
 * included. */
size_t hook_not_started(const struct hook *h);

/* Why the last run of the command failed or did not start, else that of `apply` ("exit status 1");
 * NULL = both succeeded. */
const char *hook_last_error(const struct hook *h);

/* Parked work items, `apply` included. */
size_t hook_parked(const struct hook *h);

/* For how long, in ms, the oldest key has waited that is neither handled nor parked, or the oldest
 * file that is not applied; 0 = nothing waits. A key with a run under way counts, so that a hook
 * that hangs is noticed here. */
uint64_t hook_oldest_pending_ms(const struct hook *h, uint64_t now_ms);

#endif
