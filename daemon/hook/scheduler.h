/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scheduler - which work item may start now, and when to ask again; pure. A work item has one run
 * at a time: it is a key of a hook in mode object, and a whole hook in the other modes. Work items
 * belong to work queues, one for each hook and one for each `apply`. Each work queue owns one slot;
 * runs beyond that share a common number of slots (docs/design.md "Slots").
 */
#ifndef HOOK_SCHEDULER_H
#define HOOK_SCHEDULER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/backoff.h"
#include "base/heap.h"
#include "base/list.h"
#include "base/rng.h"
#include "hook/work_item.h"

/* A run that the system was too short of something to start is tried again after so long. Fixed,
 * because this is no failure of the hook
 * (docs/decisions.md "A shortage of the system is no failure of the hook"). */
#define SCHEDULER_NOT_STARTED_MS 1000

/* Which of the two work queues of a hook this is. */
enum work_queue_of { WORK_QUEUE_COMMAND, WORK_QUEUE_APPLY };

/* The timing of a work queue (docs/design.md "Timing", "Retry"). */
struct work_queue_params {
    uint64_t settle_ms;       /* quiet time after the last change */
    uint64_t settle_max_ms;   /* the longest wait from the first change of a burst */
    uint64_t splay_ms;        /* up to so long is added to each settle wait and each rerun */
    uint64_t min_interval_ms; /* from one start to the next */
    uint64_t rerun_ms;        /* from a start to the rerun; 0 = never */
    unsigned concurrency;     /* runs at a time, >= 1 */
    struct backoff_params retry;
    unsigned attempts; /* failures in a row that park a work item; 0 = never */
};

/* The runs of a hook's command, or those of its `apply`; embedded in its hook or apply. */
struct work_queue {
    struct work_queue_params params;
    struct list link;    /* in scheduler.work_queues */
    struct list ready;   /* work items, first come first served */
    struct heap waiting; /* work items by the time at which they become ready */
    unsigned running;
    size_t settling; /* work items in SETTLING */
    size_t parked;
    struct heap expiring; /* parked work items by the time at which they are given up */
    size_t expiring_count;
    size_t not_started;     /* work items whose last run could not be started */
    uint64_t last_start_ms; /* min_interval counts from this start; NEVER_MS = from none */
    bool blocked;           /* its owner lets no run start */
    struct rng *rng;        /* the scheduler's */
    enum work_queue_of of;
};

/* All work queues and the slots that they share. */
struct scheduler {
    struct list work_queues; /* in the order in which they are asked */
    unsigned shared;         /* slots beyond the one that each work queue owns */
    unsigned shared_used;
    struct rng rng;
};

/* Makes it empty. shared = limits.hook_concurrency; the seed is for splay and for the jitter of
 * pauses. */
void scheduler_init(struct scheduler *s, unsigned shared, uint64_t seed);

/* Adds a work queue; params are copied. */
void scheduler_add(struct scheduler *s, struct work_queue *wq,
                   const struct work_queue_params *params);

/* The work queue, which runs nothing, belongs to the scheduler no more. */
void scheduler_remove(struct work_queue *wq);

/* Gives the work queue other settings; scheduler_follow() comes next for each of its work items. */
void scheduler_change(struct work_queue *wq, const struct work_queue_params *params);

/* Moves the time for which the work item waits from the settings *was to the new ones. A pause after a
 * failure is never made longer. */
void scheduler_follow(struct work_queue *wq, struct work_item *u,
                      const struct work_queue_params *was);

/* The work item has changed: it settles, or after a failure its next try comes forward, but not
 * before retry.initial after the end of its last run (docs/design.md "Retry"). A run that could not
 * be started waits as before. While the work item runs, only the time of the change is noted: its
 * owner says in scheduler_done() whether more is due. */
void scheduler_touch(struct work_queue *wq, struct work_item *u, uint64_t now_ms);

/* The work item is due without settling, and its backoff starts anew (a first run after a sync;
 * another incarnation of the key). While it runs, only the backoff starts anew. */
void scheduler_hurry(struct work_queue *wq, struct work_item *u);

/* The work item is due at once, whatever it waits for, and keeps its backoff (a manual run). Does
 * nothing while it runs. */
void scheduler_now(struct work_queue *wq, struct work_item *u);

/* Nothing is due for the work item any more but its rerun. Does nothing while it runs. */
void scheduler_drop(struct work_queue *wq, struct work_item *u);

/* Its rerun is due rerun_ms after since_ms, plus splay, if the hook has reruns (NEVER_MS: no
 * rerun). Not while it runs. */
void scheduler_rest(struct work_queue *wq, struct work_item *u, uint64_t since_ms);
/* Sets when its rerun is due; 0 = no rerun. Not while it runs. */
void scheduler_rest_until(struct work_queue *wq, struct work_item *u, uint64_t at_ms);
/* Parks the work item until it changes, as it was parked in an earlier process. Not while it
 * runs. */
void scheduler_park(struct work_queue *wq, struct work_item *u);

/* The work item, which is parked, is to be given up at due_ms by its owner (scheduler_expired());
 * the last call counts. NEVER_MS: only if too many are parked. */
void scheduler_expire(struct work_queue *wq, struct work_item *u, uint64_t due_ms);
/* The parked work item whose time is over, or, if more than max are to expire (0 = any number may),
 * the one whose time ends first; NULL = none. It is returned again until its owner takes it out of
 * its state. */
struct work_item *scheduler_expired(const struct work_queue *wq, uint64_t now_ms, size_t max);

/* Lets no run of the work queue start, or lets them start again. Work items still become ready. */
void scheduler_block(struct work_queue *wq, bool blocked);

/* A work item that may start now, or NULL. From here on it is RUNNING. *wq gets its work queue. */
struct work_item *scheduler_next(struct scheduler *s, uint64_t now_ms, struct work_queue **wq);

/* The work item, the only one of its work queue, which runs nothing, has a part in a run that
 * another work queue starts: it is RUNNING from here on, whatever it waited for. */
void scheduler_join(struct work_queue *wq, struct work_item *u);

/* The run of a work item starts: min_interval counts from here. Not called if the work item turns
 * out to have nothing to run. */
void scheduler_started(struct work_queue *wq, uint64_t now_ms);
/* The run that started at started_ms begins only now: if no other run has started since,
 * min_interval counts from now. */
void scheduler_began(struct work_queue *wq, uint64_t started_ms, uint64_t now_ms);
/* The run that started at started_ms could not be started: if no other run has started since, it
 * does not delay the next one by min_interval. */
void scheduler_unstarted(struct work_queue *wq, uint64_t started_ms);

/* The end of a run, as the scheduler must know it. */
enum scheduler_result {
    SCHEDULER_DONE,   /* success, and nothing more is due */
    SCHEDULER_AGAIN,  /* something else is due than this run was about, or it changed meanwhile */
    SCHEDULER_FAILED, /* to be tried again after the next pause of the backoff */
    SCHEDULER_PARKED, /* not to be tried again until something changes */
    /* Not started: once more after SCHEDULER_NOT_STARTED_MS; the backoff stays as it was. */
    SCHEDULER_NOT_STARTED,
};

/* The run of a work item has ended. A change while it ran counts as a change after its end. */
void scheduler_done(struct scheduler *s, struct work_queue *wq, struct work_item *u,
                    enum scheduler_result result, uint64_t now_ms);

/* Would a failure of the run under way park the work item, because `attempts` are used up? The owner
 * asks, and says PARKED in scheduler_done() then. */
bool scheduler_is_last_try(const struct work_queue *wq, const struct work_item *u);
/* The first time at which min_interval allows a start. */
uint64_t scheduler_earliest_ms(const struct work_queue *wq);

/* Is a work item of the queue running, or would one start if there were a slot and min_interval
 * were over? */
bool scheduler_is_busy(const struct work_queue *wq, uint64_t now_ms);

/* When scheduler_next() may return another work item even if nothing happens until then; NEVER_MS =
 * never. */
uint64_t scheduler_wake_ms(const struct scheduler *s);

#endif
