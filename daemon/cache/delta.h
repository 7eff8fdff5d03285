/* SPDX-License-Identifier: Apache-2.0 */
/*
 * delta - one difference between what a store held and what it holds now, and who hears of it;
 * pure.
 */
#ifndef CACHE_DELTA_H
#define CACHE_DELTA_H

#include <stdbool.h>
#include <stdint.h>

#include "kube/object.h"

enum delta_type {
    DELTA_ADDED,
    DELTA_MODIFIED,
    DELTA_DELETED,
    DELTA_LEFT,  /* it is no longer selected, or is said to be there still */
    DELTA_STALE, /* of a whole source, for hooks: no store sends them */
    DELTA_FRESH,
};

/* How the difference was found (docs/design.md "Events"). */
enum delta_cause {
    CAUSE_WATCH,
    CAUSE_RELIST,
    CAUSE_AUDIT,
    CAUSE_RESTART, /* by comparing with what an earlier process has left */
    CAUSE_CONFIG,  /* the same, and the settings of the watch are others now */
};

/* Borrowed until the sink returns. A new uid under an old key comes as DELETED, then ADDED
 * (docs/design.md "Order"). */
struct delta {
    enum delta_type type;
    enum delta_cause cause;
    struct object *object;    /* the state now; DELETED, LEFT: the last one known */
    bool final_state_unknown; /* DELETED: the server did not send the last state */
    uint64_t received_ns;     /* wall clock */
};

/* Runs after the store has changed. Must not change the store. */
typedef void delta_sink(void *arg, const struct delta *d);

/* "ADDED", ... and "watch", ...: the words of the hooks' input. */
const char *delta_type_name(enum delta_type type);
/* See above. */
const char *delta_cause_name(enum delta_cause cause);

#endif
