/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guard - holds back a list that would empty the cache, or whose version went backwards, until a
 * second list agrees or a person decides; pure (docs/design.md "Guard"). Each scope of a watch has
 * one.
 */
#ifndef CACHE_GUARD_H
#define CACHE_GUARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct guard_params {
    /* Percent: a list that would delete a larger part of the objects is held. GUARD_OFF: no list is
     * held for its deletes. */
    unsigned relist_deletes;
    size_t at_least;  /* smaller caches are not guarded against deletes */
    uint64_t hold_ms; /* from the first list to the one that may confirm it */
};

enum { GUARD_OFF = 101 };

enum guard_state {
    GUARD_CLEAR,
    GUARD_HELD,     /* a list is held; the next one after hold_ms may confirm it */
    GUARD_ACCEPTED, /* by hand: the next list is applied, whatever it says */
    GUARD_REJECTED, /* by hand: only a list that the guard would not hold is applied */
};

enum guard_reason {
    GUARD_NOTHING,
    GUARD_DELETES,
    GUARD_BACKWARDS,
    /* Another cluster answers: no list is taken from it (docs/design.md "Cluster identity"). */
    GUARD_IDENTITY,
};

/* The deletes that lists of all scopes of a watch made within one minute: many small ones count as
 * the large one that they add up to. Zero-initialised: no deletes. */
struct guard_window {
    uint64_t since_ms; /* when the first of them was made */
    size_t deletes;
};

/* Read-only outside guard.c. */
struct guard {
    struct guard_params params;
    enum guard_state state;
    enum guard_reason reason; /* why a list is held */
    uint64_t since_ms;
    size_t deletes; /* those that the held list would make */
};

/* The effect that a list would have on the watch. */
struct guard_case {
    size_t objects; /* that the watch has now */
    size_t deletes; /* how many of them the list would delete */
    bool backwards; /* its version is older than that of the last list or bookmark */
};

enum guard_verdict { GUARD_PASS, GUARD_HOLD };

/* May the list be applied? PASS: its deletes are counted in w, the window of the watch. HOLD: the
 * list is held, for guard_wait_ms(). */
enum guard_verdict guard_judge(struct guard *g, struct guard_window *w, const struct guard_case *c,
                               uint64_t now_ms);

/* After HOLD: how long to wait before the next list, in ms. */
uint64_t guard_wait_ms(const struct guard *g, uint64_t now_ms);

/* Is a list held back, or everything of another cluster? True until a list passes. */
bool guard_holds(const struct guard *g);

/* Another cluster answers: everything is held until the right cluster answers, whatever a list
 * says. Then a person decides about the cluster, not about a list: guard_accept() and
 * guard_reject() return false. */
void guard_hold_foreign(struct guard *g, uint64_t now_ms);

/* The right cluster answers. Does nothing if the guard holds a list for another reason. */
void guard_release_foreign(struct guard *g);

/* A person lets the next list pass, whatever it says. False: no list is held. */
bool guard_accept(struct guard *g);
/* A person keeps the cache until a list comes that the guard would not hold. False: no list is
 * held. */
bool guard_reject(struct guard *g);

/* "deletes", "backwards", "identity": for status and logs; NULL for GUARD_NOTHING. */
const char *guard_reason_name(enum guard_reason reason);

#endif
