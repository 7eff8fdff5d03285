/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_timing - a naive model of the timing of one work item (a key in mode object, else the hook):
 * when it may run at the earliest, and must run at the latest if nothing else is in its way, by
 * docs/design.md "Runs", "Delivery".
 */
#ifndef SIM_RUN_TIMING_H
#define SIM_RUN_TIMING_H

#include <stdbool.h>
#include <stdint.h>

#include "hook/scheduler.h"

struct run_timing {
    bool running;
    bool parked;
    bool not_started; /* the last run could not be started: the next try is at not_started_ms */
    bool due;
    bool changed;        /* since the run under way started */
    uint64_t first_ms;   /* the first change of the burst */
    uint64_t last_ms;    /* the last change of the burst */
    uint64_t news_ms;    /* the last change, also of a source that is not seen yet; 0 = none */
    uint64_t started_ms; /* of the last run */
    uint64_t ended_ms;
    uint64_t not_started_ms;
    unsigned failures; /* in a row */
    uint64_t
        earliest_ms; /* of a run for the due events; NEVER_MS = no run unless something changes */
    uint64_t latest_ms;
    uint64_t rerun_earliest_ms;
    uint64_t rerun_latest_ms;
    uint64_t kept_earliest_ms; /* of the rerun that was to come when the run under way started */
    uint64_t kept_latest_ms;
    uint64_t ordered_ms; /* when a person wanted a manual run; NEVER_MS = nobody does */
    uint64_t place_ms;   /* the work item may have been ready since then; NEVER_MS = not before */
    bool had_no_slot;    /* the run that is due has waited for a slot */
    bool had_to_wait;    /* the run that is due has waited for min_interval */
};

/* Nothing is due. */
void run_timing_init(struct run_timing *p);

/* The effect of a change on the timing, for counting features. */
enum run_timing_effect {
    RUN_TIMING_NOTHING,
    RUN_TIMING_BURST,
    RUN_TIMING_LIMIT,
    RUN_TIMING_FORWARD,
    RUN_TIMING_UNPARKED
};

/* A change has come, and a run is due. */
enum run_timing_effect run_timing_touch(struct run_timing *p, const struct work_queue_params *l,
                                        uint64_t now_ms);

/* A run is due at once, and the backoff begins anew. */
void run_timing_hurry(struct run_timing *p, uint64_t now_ms);

/* The hook sees the source for the first time while the source keeps changing. */
void run_timing_begin_hot(struct run_timing *p, const struct work_queue_params *l, uint64_t now_ms);

/* The settings have changed from *was to *l: moves the time for which the work item waits. */
void run_timing_change(struct run_timing *p, const struct work_queue_params *l,
                       const struct work_queue_params *was, uint64_t now_ms);

/* A person wants a manual run. */
void run_timing_order(struct run_timing *p, uint64_t now_ms);

/* Nothing is due any more. */
void run_timing_drop(struct run_timing *p);

/* Nothing is due any more except a manual run, which is due at once if the last run had failed. */
void run_timing_leave_order(struct run_timing *p, uint64_t now_ms);

/* The next rerun is due rerun_every after since_ms, and not before the last run has ended; since_ms
 * NEVER_MS = no rerun. */
void run_timing_rest(struct run_timing *p, const struct work_queue_params *l, uint64_t since_ms);

/* The run that has ended does not put off the rerun that was to come, but the rerun is not due
 * before earliest_ms. If no rerun was to come, this is run_timing_rest() from since_ms on. */
void run_timing_keep(struct run_timing *p, const struct work_queue_params *l, uint64_t since_ms,
                     uint64_t earliest_ms);

/* May a run start now? can_repeat: a rerun would have something to tell. */
bool run_timing_may_run(const struct run_timing *p, bool can_repeat, uint64_t now_ms);

/* Is there a time at which a run must start? */
bool run_timing_waits(const struct run_timing *p);

/* The earliest time at which the work item can have been ready. Another one that had to run before
 * that time must have come first. */
uint64_t run_timing_ready_ms(const struct run_timing *p);

/* When a run must start, if there is a slot; NEVER_MS = it need not. can_repeat: a rerun would have
 * something to tell; has_matter: a manual run would. */
uint64_t run_timing_deadline_ms(const struct run_timing *p, bool can_repeat, bool has_matter);

/* A run starts. */
void run_timing_begin(struct run_timing *p, uint64_t now_ms);

/* How a run ended. */
struct run_timing_end {
    bool ok;
    bool not_started; /* the system could not start it */
    bool parks;       /* the result parks at once, whatever attempts says */
    bool rerun;       /* a rerun could not be started, and still has something to tell */
    bool due;         /* something is due after the run */
    bool another;     /* another event is due than the one that failed */
};

/* A run ends. */
void run_timing_end(struct run_timing *p, const struct work_queue_params *l,
                    const struct run_timing_end *end, uint64_t now_ms);

/* Would a failure of the run under way park the work item: was it the last attempt, or does the
 * exit status park? */
bool run_timing_is_spent(const struct run_timing *p, const struct work_queue_params *l, bool parks);

#endif
