/* SPDX-License-Identifier: Apache-2.0 */
#include "work_queues.h"

struct scheduler work_queues_sched;
struct work_queue work_queues[WORK_QUEUES];
struct work_item work_items[WORK_QUEUES][WORK_ITEMS];
uint64_t work_queues_now;

struct work_queue_params work_queues_params(uint64_t settle_ms, uint64_t max_ms,
                                            unsigned concurrency)
{
    return (struct work_queue_params){
        .settle_ms = settle_ms,
        .settle_max_ms = max_ms,
        .concurrency = concurrency,
        .retry = {.initial_ms = INITIAL, .max_ms = 8000, .factor = 2}
    };
}

void work_queues_init(unsigned shared, struct work_queue_params p)
{
    work_queues_now = 5000;
    scheduler_init(&work_queues_sched, shared, 1);
    for (size_t l = 0; l < WORK_QUEUES; l++) {
        scheduler_add(&work_queues_sched, &work_queues[l], &p);
        for (size_t u = 0; u < WORK_ITEMS; u++)
            work_items[l][u] = (struct work_item){0};
    }
}

void work_queues_touch(size_t l, size_t u)
{
    scheduler_touch(&work_queues[l], &work_items[l][u], work_queues_now);
}

void work_queues_assert_starts(size_t l, size_t u)
{
    struct work_queue *work_queue = NULL;

    assert_ptr_equal(scheduler_next(&work_queues_sched, work_queues_now, &work_queue),
                     &work_items[l][u]);
    assert_ptr_equal(work_queue, &work_queues[l]);
    assert_int_equal(work_items[l][u].state, WORK_ITEM_RUNNING);
}

void work_queues_assert_nothing(void)
{
    struct work_queue *work_queue;

    assert_null(scheduler_next(&work_queues_sched, work_queues_now, &work_queue));
}

void work_queues_assert_starts_only_at(size_t l, size_t u, uint64_t ms)
{
    work_queues_assert_nothing();
    assert_int_equal(scheduler_wake_ms(&work_queues_sched), ms);
    work_queues_now = ms - 1;
    work_queues_assert_nothing();
    work_queues_now = ms;
    work_queues_assert_starts(l, u);
}

void work_queues_done(size_t l, size_t u, enum scheduler_result result)
{
    scheduler_done(&work_queues_sched, &work_queues[l], &work_items[l][u], result, work_queues_now);
}
