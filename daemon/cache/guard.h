/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guard - holds back a list that would empty the cache, or whose version went backwards, until a
 * second one agrees or a person does; pure (docs/design.md "Guard"). One per stream.
 */
#ifndef CACHE_GUARD_H
#define CACHE_GUARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct guard_params {
    /* Percent: a list that lacks more of the objects than that is held; GUARD_OFF = none is. */
    unsigned relist_deletes;
    size_t at_least;  /* smaller caches are not guarded against deletes */
    uint64_t hold_ms; /* from the first list to the one that may confirm it */
};

enum { GUARD_OFF = 101 };

enum guard_state {
    GUARD_CLEAR,
    GUARD_HELD,     /* the next list after hold_ms may confirm */
    GUARD_ACCEPTED, /* by hand: the next list is applied, whatever it says */
    GUARD_REJECTED, /* by hand: only a list that looks well again is applied */
};

enum guard_reason {
    GUARD_NOTHING,
    GUARD_DELETES,
    GUARD_BACKWARDS,
    GUARD_IDENTITY, /* another cluster answers: no list is taken from it
                       (docs/design.md "Cluster identity") */
};

/* Deletes by lists of all streams of a watch within a minute, so that many small ones count as the
 * large one they make up. Zero-initialised is none. */
struct guard_window {
    uint64_t since_ms; /* the first of them */
    size_t deletes;
};

/* Read-only outside guard.c. */
struct guard {
    struct guard_params params;
    enum guard_state state;
    enum guard_reason reason; /* of what is held */
    uint64_t since_ms;
    size_t deletes; /* that are held back */
};

/* What a list would do. */
struct guard_case {
    size_t objects; /* in the watch now */
    size_t deletes; /* of these by the list */
    bool backwards; /* its version is older than the one known */
};

enum guard_verdict { GUARD_PASS, GUARD_HOLD };

/* May the list be applied? A PASS also counts its deletes in the window (of the watch). */
enum guard_verdict guard_judge(struct guard *g, struct guard_window *w, const struct guard_case *c,
                               uint64_t now_ms);

/* After a HOLD: how long to wait before the next list, in ms. */
uint64_t guard_wait_ms(const struct guard *g, uint64_t now_ms);

/* Something is held back? */
bool guard_holds(const struct guard *g);

/* Another cluster answers: held until the right one does, whatever a list says. A person decides about the
 * cluster, not about the list: guard_accept() and guard_reject() know of nothing then. */
void guard_hold_foreign(struct guard *g, uint64_t now_ms);

/* The right cluster answers. */
void guard_release_foreign(struct guard *g);

/* A person decides about what is held. False: nothing is. */
bool guard_accept(struct guard *g);
/* See above. */
bool guard_reject(struct guard *g);

/* "deletes", "backwards", "identity"; NULL for GUARD_NOTHING. */
const char *guard_reason_name(enum guard_reason reason);

#endif
