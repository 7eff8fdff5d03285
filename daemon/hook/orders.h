/* SPDX-License-Identifier: Apache-2.0 */
/*
 * orders - what people want run of one hook (informerctl run), each told apart until its runs have
 * ended and for a while longer; pure. A set of orders is a bit for each: a unit, and then its run,
 * may fulfil several.
 */
#ifndef HOOK_ORDERS_H
#define HOOK_ORDERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ORDERS_MAX = 32 };

struct order {
    uint64_t number; /* 1, 2, ...; 0 = there was none */
    size_t total;    /* runs that were wanted, of units and of apply */
    size_t left;     /* that have not ended */
    size_t failed;
};

/* Embedded in its hook; zero-initialised is empty. */
struct orders {
    struct order v[ORDERS_MAX];
    uint64_t last; /* number of the newest one; 0 = there was none */
};

/* Begins one, which takes the place of the one that has been over for longest. Its bit; 0 = none is
 * over. */
uint32_t orders_begin(struct orders *o);

/* A unit that is to run for the orders in *unit is to run for those in set, too. */
void orders_want(struct orders *o, uint32_t *unit, uint32_t set);

/* A run for these has ended. */
void orders_ended(struct orders *o, uint32_t set, bool ok);

/* Is a run of any of them still to end? */
bool orders_wait(const struct orders *o);

/* NULL: it is not known, or not any more. */
const struct order *orders_find(const struct orders *o, uint64_t number);

#endif
