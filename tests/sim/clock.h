/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clock - virtual time: calls in the order of their due times, and one seeded generator for all
 * that is left to chance.
 */
#ifndef SIM_CLOCK_H
#define SIM_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/heap.h"
#include "base/rng.h"

/* A call to come; embedded in its owner. */
struct alarm {
    struct heap_node node;
    bool set;
    void (*fn)(struct alarm *a);
};

struct clock {
    uint64_t now_ms;
    struct heap due;
    struct rng rng;
};

/* Time begins at 1000 ms. */
void clock_init(struct clock *c, uint64_t seed);

/* a->fn runs once, delay_ms from now; a set alarm is set anew. */
void clock_set(struct clock *c, struct alarm *a, uint64_t delay_ms);

/* a->fn will not run. */
void clock_clear(struct clock *c, struct alarm *a);

/* Moves on to the next alarm and runs it. False if none is due by until_ms: then it is until_ms. */
bool clock_step(struct clock *c, uint64_t until_ms);

/* True in so many of 100 cases. */
bool clock_percent(struct clock *c, unsigned percent);

/* Uniform in [lo, hi]. */
uint64_t clock_pick(struct clock *c, uint64_t lo, uint64_t hi);

#endif
