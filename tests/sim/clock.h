/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clock - virtual time: calls in the order of their due times, and one seeded generator for all
 * random choices.
 */
#ifndef SIM_CLOCK_H
#define SIM_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/heap.h"
#include "base/rng.h"

/* A call that is to come; embedded in its owner. */
struct alarm {
    struct heap_node node;
    bool set;
    void (*fn)(struct alarm *a);
};

struct clock {
    uint64_t now_ms;
    struct heap due;
    struct rng rng;
    bool verbose;
};

/* Time begins at 1000 ms. verbose: clock_trace() prints. */
void clock_init(struct clock *c, uint64_t seed, bool verbose);

/* a->fn runs once, delay_ms from now; a set alarm is set anew. */
void clock_set(struct clock *c, struct alarm *a, uint64_t delay_ms);

/* The same at a point in time; one that has passed means now. */
void clock_set_at(struct clock *c, struct alarm *a, uint64_t at_ms);

/* a->fn will not run. */
void clock_clear(struct clock *c, struct alarm *a);

/* Moves on to the next alarm and runs it. False if no alarm is due by until_ms: then the time is
 * until_ms. */
bool clock_step(struct clock *c, uint64_t until_ms);

/* True in so many of 100 cases. */
bool clock_percent(struct clock *c, unsigned percent);

/* Uniform in [lo, hi]. */
uint64_t clock_pick(struct clock *c, uint64_t lo, uint64_t hi);

/* Prints what happens now, for people who look at one seed. */
void clock_trace(const struct clock *c, const char *fmt, ...) PRINTF_LIKE(2, 3);

#endif
