/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sched - which unit of work may start now, and when to ask again; pure. A unit is what runs one
 * at a time: a key of a hook in mode object, a whole hook in mode snapshot. Units belong to lanes,
 * one per hook: each lane owns one slot, and what goes beyond shares a common number (DESIGN 1.4.7).
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

enum unit_state {
    UNIT_IDLE,
    UNIT_SETTLING, /* changed; waits for quiet */
    UNIT_READY,    /* waits for a slot */
    UNIT_RUNNING,
    UNIT_BACKOFF, /* failed; waits for the next try */
};

/* Embedded in its owner; zero-initialised is idle. */
struct unit {
    enum unit_state state;
    struct heap_node timer; /* SETTLING, BACKOFF */
    struct list ready;      /* READY */
    uint64_t first_ms;   /* the first change of this burst; RUNNING: since the start, or NEVER_MS */
    uint64_t changed_ms; /* the last change */
    uint64_t ended_ms;   /* BACKOFF: when the last run ended */
    struct backoff backoff;
    unsigned failures; /* in a row; the attempt of the next run is one more */
};

struct lane_params {
    uint64_t settle_ms;     /* quiet time after the last change */
    uint64_t settle_max_ms; /* longest wait from the first change of a burst */
    unsigned concurrency;   /* units at a time, >= 1 */
    struct backoff_params retry;
};

/* One hook's part of the schedule; embedded in its owner. */
struct lane {
    struct lane_params params;
    struct list link;    /* of the schedule's ring */
    struct list ready;   /* units, first come first served */
    struct heap waiting; /* units by due time */
    unsigned running;
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
 * not before retry.initial after the last end (DESIGN 1.3). For a running unit only the time is
 * noted: its owner says in sched_done() whether more is due. */
void sched_touch(struct lane *lane, struct unit *u, uint64_t now_ms);

/* The unit is due without settling; a new ladder begins (first run after sync; another life of a
 * key). Does nothing for a running unit but reset its ladder. */
void sched_hurry(struct lane *lane, struct unit *u);

/* Nothing is due for the unit any more. Does nothing for a running one. */
void sched_drop(struct lane *lane, struct unit *u);

/* A unit that may start now, or NULL; it counts as running from here on. *lane is its lane. */
struct unit *sched_next(struct sched *s, uint64_t now_ms, struct lane **lane);

enum sched_result {
    SCHED_DONE,   /* success, nothing more is due */
    SCHED_AGAIN,  /* success, and something changed meanwhile */
    SCHED_FAILED, /* try again after the next step of the ladder */
};

/* The run of a unit has ended. */
void sched_done(struct sched *s, struct lane *lane, struct unit *u, enum sched_result result,
                uint64_t now_ms);

/* When sched_next() may have something new although nothing happened; NEVER_MS = never. */
uint64_t sched_wake_ms(const struct sched *s);

#endif
