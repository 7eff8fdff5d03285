/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lanes - a schedule of a few lanes with a few units each, in virtual time; pure. One at a time.
 */
#ifndef UNIT_LANES_H
#define UNIT_LANES_H

#include "objects.h"

#include "hook/sched.h"

enum { LANES = 4, UNITS = 10, INITIAL = 1000 };

extern struct sched lanes_sched;
extern struct lane lanes[LANES];
extern struct unit units[LANES][UNITS];
extern uint64_t lanes_now;

/* With a ladder of INITIAL, twice that, ... up to 8 s. */
struct lane_params lanes_params(uint64_t settle_ms, uint64_t max_ms, unsigned concurrency);

/* All lanes with the same parameters. */
void lanes_init(unsigned shared, struct lane_params p);

/* Something changed for a unit. */
void lanes_touch(size_t l, size_t u);

/* This unit starts now. */
void lanes_assert_starts(size_t l, size_t u);

/* None does. */
void lanes_assert_nothing(void);

/* It starts at ms, not before; then it is that late. */
void lanes_assert_starts_only_at(size_t l, size_t u, uint64_t ms);

/* Its run has ended. */
void lanes_done(size_t l, size_t u, enum sched_result result);

#endif
