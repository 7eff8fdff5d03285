/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sched - which unit of work may start now, and when to ask again; pure. A unit is what runs one at
 * a time: a key of a hook in mode object, a whole hook in the others. Units belong to lanes, one
 * per hook and one per `apply`: each lane owns one slot, and what goes beyond shares a common
 * number (DESIGN 1.4.7).
 */
#ifndef HOOK_SCHED_H
#define HOOK_SCHED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/backoff.h"
#include "base/heap.h"
#include "base/list.h"
#include "base/rng.h"

#define NEVER_MS UINT64_MAX

/* What the system had no means to start is tried again so much later. */
#define SCHED_DENIED_MS 1000

enum unit_state {
    UNIT_IDLE,
    UNIT_SETTLING, /* changed; waits for quiet, and for its part of splay */
    UNIT_READY,    /* waits for a slot */
    UNIT_RUNNING,
    UNIT_BACKOFF, /* failed, or was denied; waits for the next try */
    UNIT_PARKED,  /* failed; waits for a change */
    UNIT_RESTING, /* nothing is due; waits for its rerun */
};

/* Embedded in its owner; zero-initialised is idle. */
struct unit {
    enum unit_state state;
    struct heap_node timer; /* SETTLING, BACKOFF, RESTING; PARKED if it expires */
    bool expires;           /* PARKED, and not for ever */
    struct list ready;      /* READY */
    uint64_t first_ms;   /* the first change of this burst; RUNNING: since the start, or NEVER_MS */
    uint64_t changed_ms; /* the last change */
    uint64_t splay_ms;   /* SETTLING: drawn for this burst */
    uint64_t ended_ms;   /* BACKOFF, PARKED: when the last run ended */
    uint64_t rerun_at_ms; /* when it is due though nothing changes; 0 = never */
    struct backoff backoff;
    unsigned failures; /* in a row; the attempt of the next run is one more */
    bool denied;       /* the system had no means to start its last run */
    uint32_t orders;   /* the owner's: what people want it to run for (hook/orders) */
};

/* What a hook's lane is for. */
enum lane_of { LANE_COMMAND, LANE_APPLY };

struct lane_params {
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
struct lane {
    struct lane_params params;
    struct list link;    /* of the schedule's ring */
    struct list ready;   /* units, first come first served */
    struct heap waiting; /* units by due time */
    unsigned running;
    size_t parked;
    struct heap expiring; /* of those, by the time when they are given up */
    size_t expiring_count;
    size_t denied;        /* units */
    uint64_t earliest_ms; /* of the next start: min_interval */
    bool blocked;         /* its owner lets nothing start */
    struct rng *rng;      /* the schedule's */
    enum lane_of of;
};

struct sched {
    struct list lanes; /* the next to be asked stands first */
    unsigned shared;   /* slots beyond each lane's own */
    unsigned shared_used;
    struct rng rng;
};

/* shared = limits.hook_concurrency. */
void sched_init(struct sched *s, unsigned shared, uint64_t seed);

/* Adds a lane; params are copied. */
void sched_add(struct sched *s, struct lane *lane, const struct lane_params *params);

/* Something changed for the unit: it settles, or, after a failure, its next try comes forward, but
 * not before retry.initial after the last end (DESIGN 1.3). A denied one waits as it does. For a
 * running unit only the time is noted: its owner says in sched_done() whether more is due. */
void sched_touch(struct lane *lane, struct unit *u, uint64_t now_ms);

/* The unit is due without settling; a new ladder begins (first run after sync; another life of a
 * key). Does nothing for a running unit but reset its ladder. */
void sched_hurry(struct lane *lane, struct unit *u);

/* The unit is due at once, whatever it waits for; its ladder stays (a person wants it). Does
 * nothing for a running one. */
void sched_now(struct lane *lane, struct unit *u);

/* Nothing is due for the unit any more but its rerun. Does nothing for a running one. */
void sched_drop(struct lane *lane, struct unit *u);

/* Its rerun is due rerun_ms after since_ms, if any (NEVER_MS: never). Not while it runs. */
void sched_rest(struct lane *lane, struct unit *u, uint64_t since_ms);
/* The same, by the time when it is due; 0 = it is not. */
void sched_rest_until(struct lane *lane, struct unit *u, uint64_t at_ms);
/* It waits for a change, as it did in an earlier process. Not while it runs. */
void sched_park(struct lane *lane, struct unit *u);

/* It is parked, and is given up at that time: by its owner (sched_expired()). */
void sched_expire(struct lane *lane, struct unit *u, uint64_t due_ms);
/* The unit whose time is over, or else, if there are more than max that expire (0 = any number), the
 * first of them; NULL = none. It stays until its owner takes it out of its state. */
struct unit *sched_expired(const struct lane *lane, uint64_t now_ms, size_t max);

/* Lets nothing of the lane start, or lets it start again. Units still become ready. */
void sched_block(struct lane *lane, bool blocked);

/* A unit that may start now, or NULL; it is running from here on. *lane is its lane. */
struct unit *sched_next(struct sched *s, uint64_t now_ms, struct lane **lane);

/* It has something to run: min_interval counts from here. */
void sched_started(struct lane *lane, uint64_t now_ms);
/* What started at started_ms begins only now: so does min_interval, if nothing has started since. */
void sched_began(struct lane *lane, uint64_t started_ms, uint64_t now_ms);
/* What started at started_ms was none: if nothing has started since, min_interval does not count. */
void sched_unstarted(struct lane *lane, uint64_t started_ms);

enum sched_result {
    SCHED_DONE,   /* success, nothing more is due */
    SCHED_AGAIN,  /* something else is due than what has run, or it changed meanwhile */
    SCHED_FAILED, /* try again after the next step of the ladder */
    SCHED_PARKED, /* not again until something changes */
    SCHED_DENIED, /* it was not started: once more after SCHED_DENIED_MS, the ladder stays */
};

/* The run of a unit has ended. What changed while it ran counts as a change after its end. */
void sched_done(struct sched *s, struct lane *lane, struct unit *u, enum sched_result result,
                uint64_t now_ms);

/* Is the run of the unit the last of its attempts, so that its failure parks it? */
bool sched_is_last_try(const struct lane *lane, const struct unit *u);

/* Is a unit of the lane running, or could it start but for slots and min_interval? */
bool sched_is_busy(const struct lane *lane, uint64_t now_ms);

/* When sched_next() may have something new although nothing happened; NEVER_MS = never. */
uint64_t sched_wake_ms(const struct sched *s);

#endif
