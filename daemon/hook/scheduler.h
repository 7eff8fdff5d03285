/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scheduler - which unit of work may start now, and when to ask again; pure. A unit is what runs one at
 * a time: a key of a hook in mode object, a whole hook in the others. Units belong to lanes, one
 * per hook and one per `apply`: each lane owns one slot, and what goes beyond shares a common
 * number (docs/design.md "Slots").
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

#define NEVER_MS UINT64_MAX

/* What the system had no means to start is tried again so much later. */
#define SCHEDULER_NOT_STARTED_MS 1000

enum work_item_state {
    WORK_ITEM_IDLE,
    WORK_ITEM_SETTLING, /* changed; waits for quiet, and for its part of splay */
    WORK_ITEM_READY,    /* waits for a slot */
    WORK_ITEM_RUNNING,
    WORK_ITEM_BACKOFF, /* failed, or was denied; waits for the next try */
    WORK_ITEM_PARKED,  /* failed; waits for a change */
    WORK_ITEM_RESTING, /* nothing is due; waits for its rerun */
};

/* Embedded in its owner; zero-initialised is idle. */
struct work_item {
    enum work_item_state state;
    struct heap_node timer; /* SETTLING, BACKOFF, RESTING; PARKED if it expires */
    bool expires;           /* PARKED, and not for ever */
    struct list ready;      /* READY */
    uint64_t first_ms;   /* the first change of this burst; RUNNING: since the start, or NEVER_MS */
    uint64_t changed_ms; /* the last change */
    uint64_t splay_ms;   /* SETTLING: drawn for this burst */
    uint64_t ended_ms;   /* BACKOFF, PARKED: when the last run ended */
    uint64_t rerun_at_ms; /* when it is due though nothing changes; 0 = never */
    struct backoff backoff;
    unsigned failures;    /* in a row; the attempt of the next run is one more */
    bool not_started;     /* the system had no means to start its last run */
    uint32_t manual_runs; /* the owner's: what people want it to run for (hook/manual_runs) */
};

/* What a hook's lane is for. */
enum work_queue_of { WORK_QUEUE_COMMAND, WORK_QUEUE_APPLY };

struct work_queue_params {
    uint64_t settle_ms;       /* quiet time after the last change */
    uint64_t settle_max_ms;   /* longest wait from the first change of a burst */
    uint64_t splay_ms;        /* up to so long is added to each wait for quiet, and to each rerun */
    uint64_t min_interval_ms; /* from one start to the next */
    uint64_t rerun_ms;        /* from a start to the rerun; 0 = never */
    unsigned concurrency;     /* units at a time, >= 1 */
    struct backoff_params retry;
    unsigned attempts; /* then a unit is parked; 0 = for ever */
};

/* A part of the schedule, a hook's runs or its applies; embedded in its owner. */
struct work_queue {
    struct work_queue_params params;
    struct list link;    /* of the schedule's ring */
    struct list ready;   /* units, first come first served */
    struct heap waiting; /* units by due time */
    unsigned running;
    size_t parked;
    struct heap expiring; /* of those, by the time when they are given up */
    size_t expiring_count;
    size_t not_started;   /* units */
    uint64_t earliest_ms; /* of the next start: min_interval */
    bool blocked;         /* its owner lets nothing start */
    struct rng *rng;      /* the schedule's */
    enum work_queue_of of;
};

struct scheduler {
    struct list work_queues; /* the next to be asked stands first */
    unsigned shared;         /* slots beyond each lane's own */
    unsigned shared_used;
    struct rng rng;
};

/* shared = limits.hook_concurrency. */
void scheduler_init(struct scheduler *s, unsigned shared, uint64_t seed);

/* Adds a lane; params are copied. */
void scheduler_add(struct scheduler *s, struct work_queue *wq,
                   const struct work_queue_params *params);

/* Something changed for the unit: it settles, or, after a failure, its next try comes forward, but
 * not before retry.initial after the last end (docs/design.md "Retry"). One that could not be
 * started waits as before. For a running unit only the time is noted: its owner says in
 * scheduler_done() whether more is due. */
void scheduler_touch(struct work_queue *wq, struct work_item *u, uint64_t now_ms);

/* The unit is due without settling; a new ladder begins (first run after sync; another life of a
 * key). Does nothing for a running unit but reset its ladder. */
void scheduler_hurry(struct work_queue *wq, struct work_item *u);

/* The unit is due at once, whatever it waits for; its ladder stays (a person wants it). Does
 * nothing for a running one. */
void scheduler_now(struct work_queue *wq, struct work_item *u);

/* Nothing is due for the unit any more but its rerun. Does nothing for a running one. */
void scheduler_drop(struct work_queue *wq, struct work_item *u);

/* Its rerun is due rerun_ms after since_ms, if any (NEVER_MS: never). Not while it runs. */
void scheduler_rest(struct work_queue *wq, struct work_item *u, uint64_t since_ms);
/* The same, by the time when it is due; 0 = it is not. */
void scheduler_rest_until(struct work_queue *wq, struct work_item *u, uint64_t at_ms);
/* It waits for a change, as it did in an earlier process. Not while it runs. */
void scheduler_park(struct work_queue *wq, struct work_item *u);

/* It is parked, and is given up at that time: by its owner (scheduler_expired()). */
void scheduler_expire(struct work_queue *wq, struct work_item *u, uint64_t due_ms);
/* The unit whose time is over, or else, if there are more than max that expire (0 = any number), the
 * first of them; NULL = none. It stays until its owner takes it out of its state. */
struct work_item *scheduler_expired(const struct work_queue *wq, uint64_t now_ms, size_t max);

/* Lets nothing of the lane start, or lets it start again. Units still become ready. */
void scheduler_block(struct work_queue *wq, bool blocked);

/* A unit that may start now, or NULL; it is running from here on. *lane is its lane. */
struct work_item *scheduler_next(struct scheduler *s, uint64_t now_ms, struct work_queue **wq);

/* It has something to run: min_interval counts from here. */
void scheduler_started(struct work_queue *wq, uint64_t now_ms);
/* What started at started_ms begins only now: so does min_interval, if nothing has started since. */
void scheduler_began(struct work_queue *wq, uint64_t started_ms, uint64_t now_ms);
/* What started at started_ms was none: if nothing has started since, min_interval does not count. */
void scheduler_unstarted(struct work_queue *wq, uint64_t started_ms);

enum scheduler_result {
    SCHEDULER_DONE,   /* success, nothing more is due */
    SCHEDULER_AGAIN,  /* something else is due than what has run, or it changed meanwhile */
    SCHEDULER_FAILED, /* try again after the next step of the ladder */
    SCHEDULER_PARKED, /* not again until something changes */
    SCHEDULER_NOT_STARTED, /* it was not started: once more after SCHEDULER_NOT_STARTED_MS, the ladder stays */
};

/* The run of a unit has ended. What changed while it ran counts as a change after its end. */
void scheduler_done(struct scheduler *s, struct work_queue *wq, struct work_item *u,
                    enum scheduler_result result, uint64_t now_ms);

/* Is the run of the unit the last of its attempts, so that its failure parks it? */
bool scheduler_is_last_try(const struct work_queue *wq, const struct work_item *u);

/* Is a unit of the lane running, or could it start but for slots and min_interval? */
bool scheduler_is_busy(const struct work_queue *wq, uint64_t now_ms);

/* When scheduler_next() may have something new although nothing happened; NEVER_MS = never. */
uint64_t scheduler_wake_ms(const struct scheduler *s);

#endif
