/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_timing - when a unit (a key in mode object, the hook else) may run at the earliest, and must run at
 * the latest if nothing else is in its way, by docs/design.md "Runs", "Delivery" and from the
 * outside.
 */
#ifndef SIM_RUN_TIMING_H
#define SIM_RUN_TIMING_H

#include <stdbool.h>
#include <stdint.h>

#include "hook/scheduler.h"

struct run_timing {
    bool running;
    bool parked;
    bool
        not_started; /* the last run could not be started; since then it waits for not_started_ms */
    bool due;
    bool changed;        /* since the run under way started */
    uint64_t first_ms;   /* the first change of the burst */
    uint64_t last_ms;    /* the last one */
    uint64_t news_ms;    /* the last change, of a source that is not seen yet too; 0 = none */
    uint64_t started_ms; /* the last run */
    uint64_t ended_ms;
    uint64_t not_started_ms;
    unsigned failures;    /* in a row */
    uint64_t earliest_ms; /* with what is due; NEVER_MS = not as things are */
    uint64_t latest_ms;
    uint64_t rerun_earliest_ms;
    uint64_t rerun_latest_ms;
    uint64_t kept_earliest_ms; /* of the run under way: the rerun that was to come */
    uint64_t kept_latest_ms;
    uint64_t ordered_ms; /* NEVER_MS = it is not */
    uint64_t place_ms;   /* it is ordered, and may have been ready since then; NEVER_MS = not */
    bool had_no_slot;    /* when it was due, and has not run since */
    bool had_to_wait;    /* the same, for min_interval */
};

/* Nothing is due. */
void run_timing_init(struct run_timing *p);

/* What a change did to the unit, for those who count. */
enum run_timing_effect {
    RUN_TIMING_NOTHING,
    RUN_TIMING_BURST,
    RUN_TIMING_LIMIT,
    RUN_TIMING_FORWARD,
    RUN_TIMING_UNPARKED
};

/* Something changed, and something is due. */
enum run_timing_effect run_timing_touch(struct run_timing *p, const struct work_queue_params *l,
                                        uint64_t now_ms);

/* It is due at once, and a new ladder begins. */
void run_timing_hurry(struct run_timing *p, uint64_t now_ms);

/* The source is seen for the first time while it keeps changing. */
void run_timing_begin_hot(struct run_timing *p, const struct work_queue_params *l, uint64_t now_ms);

/* A person wants it run. */
void run_timing_order(struct run_timing *p, uint64_t now_ms);

/* Nothing is due any more. */
void run_timing_drop(struct run_timing *p);

/* Nothing is due any more but what a person wants: at once if it had failed. */
void run_timing_leave_order(struct run_timing *p, uint64_t now_ms);

/* It is to run again so long after since_ms, and once its last run has ended; NEVER_MS = not at
 * all. */
void run_timing_rest(struct run_timing *p, const struct work_queue_params *l, uint64_t since_ms);

/* What has run puts its rerun off by nothing, but not before earliest_ms; if there was to be none,
 * run_timing_rest() from since_ms on. */
void run_timing_keep(struct run_timing *p, const struct work_queue_params *l, uint64_t since_ms,
                     uint64_t earliest_ms);

/* May it run now? can_repeat: though nothing is due. */
bool run_timing_may_run(const struct run_timing *p, bool can_repeat, uint64_t now_ms);

/* Is there a time at which it must run? */
bool run_timing_waits(const struct run_timing *p);

/* Before then it was not ready: what must run earlier has come first. */
uint64_t run_timing_ready_ms(const struct run_timing *p);

/* When it must run, if it has a slot; NEVER_MS = it need not. can_repeat: see above; has_matter:
 * there is anything to tell. */
uint64_t run_timing_deadline_ms(const struct run_timing *p, bool can_repeat, bool has_matter);

/* A run starts. */
void run_timing_begin(struct run_timing *p, uint64_t now_ms);

/* How a run ended. */
struct run_timing_end {
    bool ok;
    bool not_started; /* it was none */
    bool parks;       /* no use trying again before a change */
    bool rerun;       /* that was denied was a rerun, and may still be one */
    bool due;         /* something is due */
    bool another;     /* something else than what failed */
};

/* A run ends. */
void run_timing_end(struct run_timing *p, const struct work_queue_params *l,
                    const struct run_timing_end *end, uint64_t now_ms);

/* Is it the last attempt that has failed, or does the exit park it? */
bool run_timing_is_spent(const struct run_timing *p, const struct work_queue_params *l, bool parks);

#endif
