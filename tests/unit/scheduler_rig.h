/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scheduler_rig - a schedule of a few lanes with a few units each, in virtual time; pure. One at a time.
 */
#ifndef UNIT_SCHEDULER_RIG_H
#define UNIT_SCHEDULER_RIG_H

#include "objects.h"

#include "hook/scheduler.h"

enum { WORK_QUEUES = 4, WORK_ITEMS = 10, INITIAL = 1000 };

extern struct scheduler scheduler_rig_sched;
extern struct work_queue work_queues[WORK_QUEUES];
extern struct work_item work_items[WORK_QUEUES][WORK_ITEMS];
extern uint64_t scheduler_rig_now;

/* With a ladder of INITIAL, twice that, ... up to 8 s. */
struct work_queue_params scheduler_rig_params(uint64_t settle_ms, uint64_t max_ms,
                                              unsigned concurrency);

/* All lanes with the same parameters. */
void scheduler_rig_init(unsigned shared, struct work_queue_params p);

/* Something changed for a unit. */
void scheduler_rig_touch(size_t l, size_t u);

/* This unit starts now. */
void scheduler_rig_assert_starts(size_t l, size_t u);

/* None does. */
void scheduler_rig_assert_nothing(void);

/* It starts at ms, not before; then it is that late. */
void scheduler_rig_assert_starts_only_at(size_t l, size_t u, uint64_t ms);

/* Its run has ended. */
void scheduler_rig_done(size_t l, size_t u, enum scheduler_result result);

#endif
