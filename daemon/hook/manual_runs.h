/* SPDX-License-Identifier: Apache-2.0 */
/*
 * manual_runs - what people want run of one hook (informerctl run), each told apart until its runs have
 * ended and for a while longer; pure. A set of orders is a bit for each: a unit, and then its run,
 * may fulfil several.
 */
#ifndef HOOK_MANUAL_RUNS_H
#define HOOK_MANUAL_RUNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MANUAL_RUNS_MAX = 32 };

struct manual_run {
    uint64_t number; /* 1, 2, ...; 0 = there was none */
    size_t total;    /* runs that were wanted, of units and of apply */
    size_t left;     /* that have not ended */
    size_t failed;
};

/* Embedded in its hook; zero-initialised is empty. */
struct manual_runs {
    struct manual_run v[MANUAL_RUNS_MAX];
    uint64_t last; /* number of the newest one; 0 = there was none */
};

/* Begins one, which takes the place of the one that has been over for longest. Its bit; 0 = none is
 * over. */
uint32_t manual_runs_begin(struct manual_runs *o);

/* A unit that is to run for the orders in *unit is to run for those in set, too. */
void manual_runs_want(struct manual_runs *o, uint32_t *work_item, uint32_t set);

/* A run for these has ended. */
void manual_runs_ended(struct manual_runs *o, uint32_t set, bool ok);

/* Is a run of any of them still to end? */
bool manual_runs_wait(const struct manual_runs *o);

/* NULL: it is not known, or not any more. */
const struct manual_run *manual_runs_find(const struct manual_runs *o, uint64_t number);

#endif
