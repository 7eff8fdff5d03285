/* SPDX-License-Identifier: Apache-2.0 */
/*
 * history - the last HISTORY_RUNS runs of a hook, for informerctl runs, and figures of all of them; pure,
 * bounded.
 */
#ifndef HOOK_HISTORY_H
#define HOOK_HISTORY_H

#include <stddef.h>
#include <stdint.h>

#include "base/histogram.h"
#include "cache/delta.h"
#include "hook/latency.h"
#include "hook/run.h"

/* So many runs are kept for each hook, the newest ones. */
enum { HISTORY_RUNS = 32 };

/* How a run was judged; HISTORY_PARKED is a failure that parked its work item. */
enum history_outcome { HISTORY_OK, HISTORY_FAILED, HISTORY_PARKED };

/* One run that has ended. A run of `apply` has no event in any mode. */
struct history_run {
    uint64_t id;
    enum run_kind kind;
    bool keyed;           /* mode object: about one event */
    char *source;         /* its source; else "" */
    char *key;            /* its key; else "" */
    enum delta_type type; /* its type */
    size_t event_count;
    enum run_reason reason;
    unsigned attempt;
    enum history_outcome outcome;
    struct run_end end;
    char *text; /* as run_result.text */
    char *file; /* path of its file; NULL = none */
    /* APPLY: all hooks whose files it was for, as names with a space between; NULL = of one hook */
    char *hooks;
    uint64_t ended_ns; /* wall clock */
    uint64_t took_ms;
    uint64_t dropped; /* bytes of output over log_limit */
    struct buf out;   /* the end of its stdout (OUTPUT_TAIL_BYTES) */
    struct buf err;   /* the end of its stderr */
};

/* Zero-initialised is empty. */
struct history {
    struct history_run v[HISTORY_RUNS];
    size_t next; /* where the next run goes */
    size_t n;
};

/* The counters of a hook since the start of the process, for people and metrics: nothing is decided by
 * them. A reload that replaces the hook hands all of them to the new one. Zero-initialised is empty. */
struct hook_figures {
    uint64_t runs_ok;
    uint64_t runs_failed;    /* with those that timed out */
    uint64_t runs_timed_out; /* killed at `timeout` */
    uint64_t met_memory;     /* runs of which the kernel has killed a process for lack of memory */
    uint64_t met_pids;       /* runs that reached pids_max */
    uint64_t cpu_us;         /* of all runs */
    uint64_t memory_peak;    /* bytes of the run that had most; 0 = not known */
    struct histogram durations; /* of the same runs, good or not */
    /* From when a key became due until a run has handled it; in modes batch and snapshot also, each key
     * by itself. Reruns and manual runs of handled objects do not count. */
    struct latency latency;
    /* From the change that a controller has noted in the object (hook/trigger_time) until a run has
     * handled it. */
    struct histogram since_trigger;
};

/* Adds a run that has ended, in place of the oldest one when there is no room. Copies all that it
 * keeps. */
void history_add(struct history *h, const struct run *run, const struct run_result *result,
                 enum history_outcome outcome, uint64_t now_ms);

/* The i-th run, 0 = the newest, i < h->n; borrowed until the next history_add(). */
const struct history_run *history_get(const struct history *h, size_t i);

/* The newest run of the command for a key of a source, or of the hook as a whole for "" and "", or
 * NULL. */
const struct history_run *history_of_key(const struct history *h, const char *source,
                                         const char *key);

/* The newest run of `apply`, or NULL. */
const struct history_run *history_of_apply(const struct history *h);

/* "ok", "failed", "parked". */
const char *history_outcome_name(enum history_outcome outcome);

/* Frees all runs. */
void history_fini(struct history *h);

#endif
