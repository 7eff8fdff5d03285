/* SPDX-License-Identifier: Apache-2.0 */
#include "lanes.h"

static void test_without_settling_a_change_starts_at_once(void **state)
{
    (void)state;
    lanes_init(0, lanes_params(0, 2000, 1));
    lanes_assert_nothing();
    assert_int_equal(sched_wake_ms(&lanes_sched), NEVER_MS);
    lanes_touch(0, 0);
    lanes_assert_starts(0, 0);
    lanes_assert_nothing();
    lanes_done(0, 0, SCHED_DONE);
    lanes_assert_nothing();
    assert_int_equal(sched_wake_ms(&lanes_sched), NEVER_MS);
}

static void test_a_change_waits_for_quiet(void **state)
{
    (void)state;
    lanes_init(0, lanes_params(200, 2000, 1));
    lanes_touch(0, 0);
    lanes_now += 150;
    lanes_touch(0, 0);
    lanes_assert_starts_only_at(0, 0, 5000 + 150 + 200);
}

static void test_a_burst_without_quiet_ends_at_the_maximum(void **state)
{
    (void)state;
    lanes_init(0, lanes_params(200, 2000, 1));
    for (int i = 0; i < 20; i++, lanes_now += 100)
        lanes_touch(0, 0);
    lanes_assert_starts(0, 0);
    assert_int_equal(lanes_now, 7000);
    lanes_done(0, 0, SCHED_DONE);
    lanes_touch(0, 0); /* another burst has its own maximum */
    lanes_assert_starts_only_at(0, 0, 7200);
}

static void test_changes_while_it_runs_settle_from_the_first_of_them(void **state)
{
    (void)state;
    lanes_init(0, lanes_params(200, 300, 1));
    lanes_touch(0, 0);
    lanes_now += 200;
    lanes_assert_starts(0, 0);
    lanes_now += 100;
    lanes_touch(0, 0);
    lanes_now += 150;
    lanes_touch(0, 0);
    lanes_done(0, 0, SCHED_AGAIN);
    lanes_assert_starts_only_at(0, 0, 5300 + 300);
    lanes_now += 1000;
    lanes_done(0, 0, SCHED_AGAIN); /* something is left although nothing changed */
    lanes_assert_starts_only_at(0, 0, 6600 + 200);
}

static void test_failures_climb_a_ladder_per_unit_and_success_resets_it(void **state)
{
    static const uint64_t ladder[] = {1000, 2000, 4000, 8000, 8000};

    (void)state;
    lanes_init(9, lanes_params(0, 0, 9));
    lanes_touch(0, 0);
    for (size_t i = 0; i < ARRAY_LEN(ladder); i++) {
        lanes_assert_starts(0, 0);
        assert_int_equal(units[0][0].failures, i);
        lanes_now += 50;
        lanes_done(0, 0, SCHED_FAILED);
        lanes_assert_nothing();
        assert_int_equal(sched_wake_ms(&lanes_sched), lanes_now + ladder[i]);
        lanes_now += ladder[i];
    }
    lanes_touch(0, 1);
    lanes_assert_starts(0, 1);
    lanes_assert_starts(0, 0);
    lanes_done(0, 1, SCHED_FAILED);
    assert_int_equal(sched_wake_ms(&lanes_sched), lanes_now + 1000);
    lanes_done(0, 0, SCHED_AGAIN);
    lanes_assert_starts(0, 0);
    assert_int_equal(units[0][0].failures, 0);
    lanes_done(0, 0, SCHED_FAILED);
    assert_int_equal(units[0][0].timer.due_ms, lanes_now + 1000);
}

static void fail_times(size_t l, size_t u, int times)
{
    for (int i = 0; i < times; i++) {
        lanes_now = i == 0 ? lanes_now : units[l][u].timer.due_ms;
        lanes_assert_starts(l, u);
        lanes_done(l, u, SCHED_FAILED);
    }
}

static void test_a_change_brings_the_next_try_forward_but_not_before_the_first_step(void **state)
{
    (void)state;
    lanes_init(0, lanes_params(200, 2000, 1));
    lanes_touch(0, 0);
    lanes_now += 200;
    fail_times(0, 0, 4);
    uint64_t end = lanes_now;
    assert_int_equal(sched_wake_ms(&lanes_sched), end + 8000);
    lanes_now += 10;
    lanes_touch(0, 0);
    assert_int_equal(sched_wake_ms(&lanes_sched), end + INITIAL);
    lanes_now = end + INITIAL - 1;
    lanes_touch(0, 0);
    lanes_assert_starts_only_at(0, 0, end + INITIAL);
    lanes_done(0, 0, SCHED_FAILED); /* the ladder goes on */
    assert_int_equal(sched_wake_ms(&lanes_sched), lanes_now + 8000);
    lanes_now += 5000;
    lanes_touch(0, 0);
    lanes_assert_starts(0, 0);
}

static void test_a_change_while_it_fails_brings_the_next_try_forward_too(void **state)
{
    (void)state;
    lanes_init(0, lanes_params(0, 0, 1));
    lanes_touch(0, 0);
    fail_times(0, 0, 4);
    lanes_now = units[0][0].timer.due_ms;
    lanes_assert_starts(0, 0);
    lanes_now += 20;
    lanes_touch(0, 0); /* what failed was the state before */
    lanes_now += 20;
    lanes_done(0, 0, SCHED_FAILED);
    assert_int_equal(units[0][0].failures, 5);
    lanes_assert_starts_only_at(0, 0, lanes_now + INITIAL);
    lanes_done(0, 0, SCHED_FAILED);
    assert_int_equal(sched_wake_ms(&lanes_sched), lanes_now + 8000);
}

static void test_hurry_starts_at_once_on_a_new_ladder(void **state)
{
    (void)state;
    lanes_init(0, lanes_params(200, 2000, 1));
    sched_hurry(&lanes[0], &units[0][0]);
    sched_hurry(&lanes[0], &units[0][0]);
    lanes_assert_starts(0, 0);
    sched_hurry(&lanes[0], &units[0][0]);
    lanes_done(0, 0, SCHED_FAILED);
    sched_hurry(&lanes[0], &units[0][0]);
    lanes_assert_starts(0, 0);
    assert_int_equal(units[0][0].failures, 0);
    lanes_done(0, 0, SCHED_FAILED);
    assert_int_equal(sched_wake_ms(&lanes_sched), lanes_now + INITIAL);
}

static void test_drop_forgets_in_every_state_but_running(void **state)
{
    (void)state;
    lanes_init(0, lanes_params(200, 2000, 1));
    lanes_touch(0, 0);
    sched_drop(&lanes[0], &units[0][0]); /* settling */
    assert_int_equal(sched_wake_ms(&lanes_sched), NEVER_MS);
    sched_hurry(&lanes[0], &units[0][0]);
    sched_drop(&lanes[0], &units[0][0]); /* ready */
    lanes_assert_nothing();
    sched_hurry(&lanes[0], &units[0][0]);
    lanes_assert_starts(0, 0);
    sched_drop(&lanes[0], &units[0][0]);
    assert_int_equal(units[0][0].state, UNIT_RUNNING);
    lanes_done(0, 0, SCHED_FAILED);
    sched_drop(&lanes[0], &units[0][0]); /* backoff */
    sched_drop(&lanes[0], &units[0][0]); /* idle */
    assert_int_equal(sched_wake_ms(&lanes_sched), NEVER_MS);
    assert_int_equal(units[0][0].failures, 0);
}

static void test_hanging_units_never_take_another_hooks_own_slot(void **state)
{
    (void)state;
    lanes_init(3, lanes_params(0, 0, 8));
    for (size_t u = 0; u < 8; u++)
        lanes_touch(0, u);
    for (size_t u = 0; u < 4; u++)
        lanes_assert_starts(0, u); /* its own and the shared three */
    lanes_assert_nothing();
    for (size_t l = 1; l < LANES; l++) {
        lanes_touch(l, 0);
        lanes_touch(l, 1);
        lanes_assert_starts(l, 0);
        lanes_assert_nothing();
    }
    lanes_done(1, 0, SCHED_DONE);
    lanes_assert_starts(1, 1);
    lanes_assert_nothing();
    lanes_done(0, 2, SCHED_DONE); /* a shared one is free: lanes_now it is another's turn */
    lanes_touch(2, 2);
    lanes_assert_starts(0, 4);
    lanes_assert_nothing();
}

static void test_concurrency_bounds_a_lane(void **state)
{
    (void)state;
    lanes_init(100, lanes_params(0, 0, 2));
    for (size_t u = 0; u < 3; u++)
        lanes_touch(0, u);
    lanes_assert_starts(0, 0);
    lanes_assert_starts(0, 1);
    lanes_assert_nothing();
    lanes_done(0, 1, SCHED_DONE);
    lanes_assert_starts(0, 2);
    lanes_assert_nothing();
}

static void test_shared_slots_go_round(void **state)
{
    size_t started[LANES] = {0};
    struct lane *lane;

    (void)state;
    lanes_init(4, lanes_params(0, 0, 10));
    for (size_t l = 0; l < LANES; l++)
        for (size_t u = 0; u < UNITS; u++)
            lanes_touch(l, u);
    while (sched_next(&lanes_sched, lanes_now, &lane) != NULL)
        started[lane - lanes]++;
    for (size_t l = 0; l < LANES; l++)
        assert_int_equal(started[l], 2);
}

static void test_units_of_a_lane_come_in_order(void **state)
{
    (void)state;
    lanes_init(0, lanes_params(0, 0, 1));
    for (size_t u = 0; u < UNITS; u++)
        lanes_touch(0, UNITS - 1 - u);
    for (size_t u = 0; u < UNITS; u++) {
        lanes_assert_starts(0, UNITS - 1 - u);
        if (u == 0)
            lanes_touch(0, UNITS - 1);
        lanes_done(0, UNITS - 1 - u, u == 0 ? SCHED_AGAIN : SCHED_DONE);
    }
    lanes_assert_starts(0, UNITS - 1);
}

/* ---- Random programs. */

struct expect {
    uint64_t not_before; /* the earliest start, 0 = none is due */
};

static struct expect expect[LANES][UNITS];
static struct rng rng;

static uint64_t pick(uint64_t n)
{
    return rng_between(&rng, 0, n - 1);
}

static void check_slots(void)
{
    unsigned shared = 0;

    for (size_t l = 0; l < LANES; l++) {
        unsigned running = 0;

        for (size_t u = 0; u < UNITS; u++)
            running += units[l][u].state == UNIT_RUNNING;
        assert_int_equal(running, lanes[l].running);
        assert_true(running <= lanes[l].params.concurrency);
        shared += running > 1 ? running - 1 : 0;
    }
    assert_int_equal(shared, lanes_sched.shared_used);
    assert_true(shared <= lanes_sched.shared);
}

/* Nothing that could run is left waiting, and the alarm is set for what comes next. */
static void check_idle(void)
{
    uint64_t soonest = NEVER_MS;

    for (size_t l = 0; l < LANES; l++) {
        bool own = lanes[l].running == 0;
        bool more = lanes[l].running < lanes[l].params.concurrency &&
                    lanes_sched.shared_used < lanes_sched.shared;

        for (size_t u = 0; u < UNITS; u++) {
            const struct unit *unit = &units[l][u];

            assert_false(unit->state == UNIT_READY && (own || more));
            assert_true(expect[l][u].not_before == 0 || unit->state != UNIT_IDLE);
            if (unit->state == UNIT_SETTLING || unit->state == UNIT_BACKOFF)
                soonest = unit->timer.due_ms < soonest ? unit->timer.due_ms : soonest;
        }
    }
    assert_int_equal(sched_wake_ms(&lanes_sched), soonest);
    assert_true(soonest > lanes_now);
}

static void start_all(void)
{
    struct lane *lane;
    struct unit *unit;

    while ((unit = sched_next(&lanes_sched, lanes_now, &lane)) != NULL) {
        struct expect *e = &expect[lane - lanes][unit - units[lane - lanes]];

        assert_true(e->not_before > 0 && lanes_now >= e->not_before);
        e->not_before = 0;
        check_slots();
    }
    check_idle();
}

static void random_touch(size_t l, size_t u)
{
    const struct unit *unit = &units[l][u];
    struct expect *e = &expect[l][u];
    uint64_t settled = lanes_now + lanes[l].params.settle_ms;
    uint64_t last =
        (unit->state == UNIT_SETTLING ? unit->first_ms : lanes_now) + lanes[l].params.settle_max_ms;

    lanes_touch(l, u);
    if (unit->state == UNIT_SETTLING)
        e->not_before = settled < last ? settled : last;
    else if (unit->state != UNIT_RUNNING && e->not_before == 0)
        e->not_before = lanes_now;
    else if (unit->state == UNIT_BACKOFF)
        e->not_before = unit->ended_ms + INITIAL;
}

static void random_end(size_t l, size_t u)
{
    enum sched_result result = (enum sched_result)pick(3);
    bool changed = units[l][u].first_ms != NEVER_MS;

    if (changed && result == SCHED_DONE)
        result = SCHED_AGAIN;
    lanes_done(l, u, result);
    expect[l][u].not_before = result == SCHED_DONE ? 0 : lanes_now;
    if (result == SCHED_FAILED)
        expect[l][u].not_before = lanes_now + INITIAL;
}

static void random_step(void)
{
    size_t l = pick(LANES);
    size_t u = pick(UNITS);

    if (units[l][u].state == UNIT_RUNNING && pick(3) > 0) {
        random_end(l, u);
    } else if (pick(12) == 0 && units[l][u].state != UNIT_RUNNING) {
        sched_drop(&lanes[l], &units[l][u]);
        expect[l][u].not_before = 0;
    } else if (pick(12) == 0 && units[l][u].state != UNIT_RUNNING) {
        sched_hurry(&lanes[l], &units[l][u]);
        expect[l][u].not_before = lanes_now;
    } else {
        random_touch(l, u);
    }
    if (pick(4) == 0)
        lanes_now += pick(700);
}

static void run_program(uint64_t seed)
{
    rng_seed(&rng, seed);
    uint64_t settle = pick(2) * pick(400);
    lanes_init((unsigned)pick(6), lanes_params(settle, settle + pick(900), 1 + (unsigned)pick(4)));
    for (size_t l = 0; l < LANES; l++)
        for (size_t u = 0; u < UNITS; u++)
            expect[l][u] = (struct expect){0};
    for (int i = 0; i < 300; i++) {
        random_step();
        start_all();
    }
}

static void test_random_programs_keep_the_rules(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 500; seed++)
        run_program(seed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_without_settling_a_change_starts_at_once),
        cmocka_unit_test(test_a_change_waits_for_quiet),
        cmocka_unit_test(test_a_burst_without_quiet_ends_at_the_maximum),
        cmocka_unit_test(test_changes_while_it_runs_settle_from_the_first_of_them),
        cmocka_unit_test(test_failures_climb_a_ladder_per_unit_and_success_resets_it),
        cmocka_unit_test(test_a_change_brings_the_next_try_forward_but_not_before_the_first_step),
        cmocka_unit_test(test_a_change_while_it_fails_brings_the_next_try_forward_too),
        cmocka_unit_test(test_hurry_starts_at_once_on_a_new_ladder),
        cmocka_unit_test(test_drop_forgets_in_every_state_but_running),
        cmocka_unit_test(test_hanging_units_never_take_another_hooks_own_slot),
        cmocka_unit_test(test_concurrency_bounds_a_lane),
        cmocka_unit_test(test_shared_slots_go_round),
        cmocka_unit_test(test_units_of_a_lane_come_in_order),
        cmocka_unit_test(test_random_programs_keep_the_rules),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
