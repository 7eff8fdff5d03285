/* SPDX-License-Identifier: Apache-2.0 */
#include "lanes.h"

struct sched lanes_sched;
struct lane lanes[LANES];
struct unit units[LANES][UNITS];
uint64_t lanes_now;

struct lane_params lanes_params(uint64_t settle_ms, uint64_t max_ms, unsigned concurrency)
{
    return (struct lane_params){
        .settle_ms = settle_ms,
        .settle_max_ms = max_ms,
        .concurrency = concurrency,
        .retry = {.initial_ms = INITIAL, .max_ms = 8000, .factor = 2}
    };
}

void lanes_init(unsigned shared, struct lane_params p)
{
    lanes_now = 5000;
    sched_init(&lanes_sched, shared, 1);
    for (size_t l = 0; l < LANES; l++) {
        sched_add(&lanes_sched, &lanes[l], &p);
        for (size_t u = 0; u < UNITS; u++)
            units[l][u] = (struct unit){0};
    }
}

void lanes_touch(size_t l, size_t u)
{
    sched_touch(&lanes[l], &units[l][u], lanes_now);
}

void lanes_assert_starts(size_t l, size_t u)
{
    struct lane *lane = NULL;

    assert_ptr_equal(sched_next(&lanes_sched, lanes_now, &lane), &units[l][u]);
    assert_ptr_equal(lane, &lanes[l]);
    assert_int_equal(units[l][u].state, UNIT_RUNNING);
}

void lanes_assert_nothing(void)
{
    struct lane *lane;

    assert_null(sched_next(&lanes_sched, lanes_now, &lane));
}

void lanes_assert_starts_only_at(size_t l, size_t u, uint64_t ms)
{
    lanes_assert_nothing();
    assert_int_equal(sched_wake_ms(&lanes_sched), ms);
    lanes_now = ms - 1;
    lanes_assert_nothing();
    lanes_now = ms;
    lanes_assert_starts(l, u);
}

void lanes_done(size_t l, size_t u, enum sched_result result)
{
    sched_done(&lanes_sched, &lanes[l], &units[l][u], result, lanes_now);
}
