/* SPDX-License-Identifier: Apache-2.0 */
/*
 * delta - one difference between the objects that a store held and those that it holds now, and the
 * type of the function that hears of it; pure.
 */
#ifndef CACHE_DELTA_H
#define CACHE_DELTA_H

#include <stdbool.h>
#include <stdint.h>

#include "kube/object.h"

/* The time of a call, on both clocks. */
struct now {
    uint64_t ms;      /* monotonic */
    uint64_t wall_ns; /* wall clock, for "received" of events */
};

enum delta_type {
    DELTA_ADDED,
    DELTA_MODIFIED,
    DELTA_DELETED,
    DELTA_LEFT,  /* the object is no longer selected, or is known to exist still */
    DELTA_STALE, /* of a whole source, for hooks: no store sends STALE or FRESH */
    DELTA_FRESH,
};

/* How the difference was found (docs/design.md "Events"). */
enum delta_cause {
    CAUSE_WATCH,
    CAUSE_RELIST,
    CAUSE_AUDIT,
    CAUSE_RESTART, /* by comparison with the objects that an earlier process has left */
    CAUSE_CONFIG,  /* the same, and the settings of the watch were edited */
};

/* Borrowed until the sink returns. An object with a new uid under an old key comes as DELETED, then
 * ADDED (docs/design.md "Order"). */
struct delta {
    enum delta_type type;
    enum delta_cause cause;
    struct object *object;    /* its new state; DELETED, LEFT: the last known one */
    struct object *before;    /* DELETED with a final state: the state before that; else NULL */
    bool final_state_unknown; /* DELETED: the server did not send the last state */
    uint64_t received_ns;     /* wall clock: when the server said so */
    uint64_t now_ms;          /* monotonic: when the sink hears of it */
};

/* Hears of a delta after the store has changed. Must not change the store. */
typedef void delta_sink(void *arg, const struct delta *d);

/* "ADDED", "MODIFIED", ...: the word in the input of hooks. */
const char *delta_type_name(enum delta_type type);
/* "watch", "relist", ...: the word for the cause in the input of hooks. */
const char *delta_cause_name(enum delta_cause cause);

#endif
