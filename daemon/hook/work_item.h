/* SPDX-License-Identifier: Apache-2.0 */
/*
 * work_item - what runs one at a time, with its waits: a key of a hook in mode object, a whole hook in
 * the other modes, or its apply; pure. hook/scheduler moves it from state to state.
 */
#ifndef HOOK_WORK_ITEM_H
#define HOOK_WORK_ITEM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/backoff.h"
#include "base/heap.h"
#include "base/list.h"

#define NEVER_MS UINT64_MAX

struct delivery;

/* The state of a work item. Only scheduler.c changes it. */
enum work_item_state {
    WORK_ITEM_IDLE,     /* nothing is due, and there is no rerun */
    WORK_ITEM_SETTLING, /* changed; waits until changes have ceased, and for its splay */
    WORK_ITEM_READY,    /* waits for a slot */
    WORK_ITEM_RUNNING,
    WORK_ITEM_BACKOFF, /* failed or was not started; waits for the next try */
    WORK_ITEM_PARKED,  /* failed; waits for a change */
    WORK_ITEM_RESTING, /* nothing is due; waits for its rerun */
};

/* Of a key, or embedded in its hook or apply; zero-initialised is idle. */
struct work_item {
    enum work_item_state state;
    bool expires;     /* PARKED, and will be given up at timer.due_ms */
    bool not_started; /* its last run could not be started */
    /* For its owner: it is parked by a run that got no fields or no file, or that informerd itself
     * stopped. The next process tries again, so the delivery record does not say parked. */
    bool unfit;
    union {
        struct list ready;      /* in READY */
        struct heap_node timer; /* in SETTLING, BACKOFF, RESTING; in PARKED if it expires */
    };
    /* The first change of this burst; in RUNNING: since the start, NEVER_MS = none. */
    uint64_t first_ms;
    uint64_t changed_ms;  /* when it last changed */
    uint64_t splay_ms;    /* SETTLING: the random part, drawn once for each burst */
    uint64_t ended_ms;    /* BACKOFF, PARKED: when its last run ended */
    uint64_t rerun_at_ms; /* when its rerun is due; 0 = never */
    struct backoff backoff;
    unsigned failures; /* in a row; the next run is attempt failures + 1 */
    /* For its owner: set of manual runs that it must run for (hook/manual_runs). */
    uint32_t manual_runs;
    struct delivery *delivery; /* for its owner: the key, in mode object; else NULL */
};

#endif
