/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scheduler_rig - a scheduler with a few work queues of a few work items each, in virtual time;
 * pure. One at a time.
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

/* With a backoff of INITIAL, twice that, ... up to 8 s. */
struct work_queue_params scheduler_rig_params(uint64_t settle_ms, uint64_t max_ms,
                                              unsigned concurrency);

/* All work queues with the same parameters. */
void scheduler_rig_init(unsigned shared, struct work_queue_params p);

/* Something changed for a work item. */
void scheduler_rig_touch(size_t l, size_t u);

/* This work item starts now. */
void scheduler_rig_assert_starts(size_t l, size_t u);

/* No work item starts now. */
void scheduler_rig_assert_nothing(void);

/* The work item starts at ms, not before; moves the clock to ms. */
void scheduler_rig_assert_starts_only_at(size_t l, size_t u, uint64_t ms);

/* The run of a work item has ended. */
void scheduler_rig_done(size_t l, size_t u, enum scheduler_result result);

#endif
