/* SPDX-License-Identifier: Apache-2.0 */
#include "scheduler_rig.h"

struct scheduler scheduler_rig_sched;
struct work_queue work_queues[WORK_QUEUES];
struct work_item work_items[WORK_QUEUES][WORK_ITEMS];
uint64_t scheduler_rig_now;

struct work_queue_params scheduler_rig_params(uint64_t settle_ms, uint64_t max_ms,
                                              unsigned concurrency)
{
    return (struct work_queue_params){
        .settle_ms = settle_ms,
        .settle_max_ms = max_ms,
        .concurrency = concurrency,
        .retry = {.initial_ms = INITIAL, .max_ms = 8000, .factor = 2}
    };
}

void scheduler_rig_init(unsigned shared, struct work_queue_params p)
{
    scheduler_rig_now = 5000;
    scheduler_init(&scheduler_rig_sched, shared, 1);
    for (size_t l = 0; l < WORK_QUEUES; l++) {
        scheduler_add(&scheduler_rig_sched, &work_queues[l], &p);
        for (size_t u = 0; u < WORK_ITEMS; u++)
            work_items[l][u] = (struct work_item){0};
    }
}

void scheduler_rig_touch(size_t l, size_t u)
{
    scheduler_touch(&work_queues[l], &work_items[l][u], scheduler_rig_now);
}

void scheduler_rig_assert_starts(size_t l, size_t u)
{
    struct work_queue *work_queue = NULL;

    assert_ptr_equal(scheduler_next(&scheduler_rig_sched, scheduler_rig_now, &work_queue),
                     &work_items[l][u]);
    assert_ptr_equal(work_queue, &work_queues[l]);
    assert_int_equal(work_items[l][u].state, WORK_ITEM_RUNNING);
}

void scheduler_rig_assert_nothing(void)
{
    struct work_queue *work_queue;

    assert_null(scheduler_next(&scheduler_rig_sched, scheduler_rig_now, &work_queue));
}

void scheduler_rig_assert_starts_only_at(size_t l, size_t u, uint64_t ms)
{
    scheduler_rig_assert_nothing();
    assert_int_equal(scheduler_wake_ms(&scheduler_rig_sched), ms);
    scheduler_rig_now = ms - 1;
    scheduler_rig_assert_nothing();
    scheduler_rig_now = ms;
    scheduler_rig_assert_starts(l, u);
}

void scheduler_rig_done(size_t l, size_t u, enum scheduler_result result)
{
    scheduler_done(&scheduler_rig_sched, &work_queues[l], &work_items[l][u], result,
                   scheduler_rig_now);
}
