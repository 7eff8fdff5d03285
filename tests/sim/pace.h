/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pace - when a unit (a key in mode object, the hook else) may run at the earliest, and must run at
 * the latest if nothing else is in its way, by DESIGN 1.2 to 1.4 and from the outside.
 */
#ifndef SIM_PACE_H
#define SIM_PACE_H

#include <stdbool.h>
#include <stdint.h>

#include "hook/scheduler.h"

struct pace {
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
void pace_init(struct pace *p);

/* What a change did to the unit, for those who count. */
enum pace_effect { PACE_NOTHING, PACE_BURST, PACE_LIMIT, PACE_FORWARD, PACE_UNPARKED };

/* Something changed, and something is due. */
enum pace_effect pace_touch(struct pace *p, const struct work_queue_params *l, uint64_t now_ms);

/* It is due at once, and a new ladder begins. */
void pace_hurry(struct pace *p, uint64_t now_ms);

/* The source is seen for the first time while it keeps changing. */
void pace_begin_hot(struct pace *p, const struct work_queue_params *l, uint64_t now_ms);

/* A person wants it run. */
void pace_order(struct pace *p, uint64_t now_ms);

/* Nothing is due any more. */
void pace_drop(struct pace *p);

/* Nothing is due any more but what a person wants: at once if it had failed. */
void pace_leave_order(struct pace *p, uint64_t now_ms);

/* It is to run again so long after since_ms, and once its last run has ended; NEVER_MS = not at
 * all. */
void pace_rest(struct pace *p, const struct work_queue_params *l, uint64_t since_ms);

/* What has run puts its rerun off by nothing, but not before earliest_ms; if there was to be none,
 * pace_rest() from since_ms on. */
void pace_keep(struct pace *p, const struct work_queue_params *l, uint64_t since_ms,
               uint64_t earliest_ms);

/* May it run now? can_repeat: though nothing is due. */
bool pace_may_run(const struct pace *p, bool can_repeat, uint64_t now_ms);

/* Is there a time at which it must run? */
bool pace_waits(const struct pace *p);

/* Before then it was not ready: what must run earlier has come first. */
uint64_t pace_ready_ms(const struct pace *p);

/* When it must run, if it has a slot; NEVER_MS = it need not. can_repeat: see above; has_matter:
 * there is anything to tell. */
uint64_t pace_deadline_ms(const struct pace *p, bool can_repeat, bool has_matter);

/* A run starts. */
void pace_begin(struct pace *p, uint64_t now_ms);

/* How a run ended. */
struct pace_end {
    bool ok;
    bool not_started; /* it was none */
    bool parks;       /* no use trying again before a change */
    bool rerun;       /* that was denied was a rerun, and may still be one */
    bool due;         /* something is due */
    bool another;     /* something else than what failed */
};

/* A run ends. */
void pace_end(struct pace *p, const struct work_queue_params *l, const struct pace_end *end,
              uint64_t now_ms);

/* Is it the last attempt that has failed, or does the exit park it? */
bool pace_is_spent(const struct pace *p, const struct work_queue_params *l, bool parks);

#endif
