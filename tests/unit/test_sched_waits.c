/* SPDX-License-Identifier: Apache-2.0 */
#include "lanes.h"

static void test_min_interval_counts_from_the_start_of_what_really_starts(void **state)
{
    struct lane_params p = lanes_params(0, 0, 3);

    (void)state;
    p.min_interval_ms = 500;
    lanes_init(8, p);
    lanes_touch(0, 0);
    lanes_touch(0, 1);
    lanes_touch(1, 0);
    lanes_assert_starts(0, 0);
    lanes_assert_starts(1, 0); /* each lane has its own */
    sched_started(&lanes[0], lanes_now);
    lanes_assert_starts_only_at(0, 1, 5500); /* though it has slots */
    lanes_touch(0, 2);
    lanes_assert_starts(0, 2); /* nothing was really started */
}

static void test_min_interval_counts_from_a_start_that_had_to_wait(void **state)
{
    struct lane_params p = lanes_params(0, 0, 3);

    (void)state;
    p.min_interval_ms = 500;
    lanes_init(8, p);
    lanes_touch(0, 0);
    lanes_touch(0, 1);
    lanes_touch(0, 2);
    lanes_assert_starts(0, 0);
    sched_started(&lanes[0], 5000);
    sched_began(&lanes[0], 5000, 5070);
    lanes_assert_starts_only_at(0, 1, 5570);
    sched_started(&lanes[0], 5570);
    sched_began(&lanes[0], 5000, 5580); /* another one has started since */
    lanes_assert_starts_only_at(0, 2, 6070);
}

static void test_a_lane_that_waits_for_a_slot_does_not_wake_for_min_interval(void **state)
{
    struct lane_params p = lanes_params(0, 0, 1);

    (void)state;
    p.min_interval_ms = 500;
    lanes_init(8, p);
    lanes_touch(0, 0);
    lanes_touch(0, 1);
    lanes_assert_starts(0, 0);
    sched_started(&lanes[0], lanes_now);
    lanes_assert_nothing();
    assert_int_equal(sched_wake_ms(&lanes_sched), NEVER_MS);
    lanes_done(0, 0, SCHED_DONE);
    lanes_assert_starts_only_at(0, 1, 5500);
}

static void test_splay_is_added_to_each_burst_and_drawn_once(void **state)
{
    struct lane_params p = lanes_params(200, 2000, 1);
    uint64_t least = UINT64_MAX;
    uint64_t most = 0;

    (void)state;
    p.splay_ms = 100;
    lanes_init(0, p);
    for (int i = 0; i < 200; i++) {
        lanes_touch(0, 0);
        uint64_t due = sched_wake_ms(&lanes_sched);
        uint64_t splay = due - lanes_now - 200;
        lanes_now += 50;
        lanes_touch(0, 0);
        assert_int_equal(sched_wake_ms(&lanes_sched), due + 50);
        lanes_now = due + 50;
        lanes_assert_starts(0, 0);
        lanes_done(0, 0, SCHED_DONE);
        least = splay < least ? splay : least;
        most = splay > most ? splay : most;
    }
    assert_true(least < 10 && most > 90 && most <= 100);
    sched_hurry(&lanes[0], &units[0][0]); /* first runs do not wait for it */
    lanes_assert_starts(0, 0);
    lanes_done(0, 0, SCHED_FAILED);
    lanes_assert_starts_only_at(0, 0, lanes_now + INITIAL); /* nor do retries */
}

static void test_splay_without_settling_waits_too(void **state)
{
    struct lane_params p = lanes_params(0, 0, 1);

    (void)state;
    p.splay_ms = 100;
    lanes_init(0, p);
    for (int i = 0; i < 20; i++) {
        lanes_touch(0, 0);
        uint64_t due = units[0][0].state == UNIT_SETTLING ? sched_wake_ms(&lanes_sched) : lanes_now;
        assert_in_range(due, lanes_now, lanes_now + 100);
        lanes_now = due;
        lanes_assert_starts(0, 0);
        lanes_done(0, 0, SCHED_DONE);
    }
}

static void test_a_unit_rests_until_its_rerun_unless_something_changes(void **state)
{
    struct lane_params p = lanes_params(200, 2000, 1);

    (void)state;
    p.rerun_ms = 5000;
    lanes_init(0, p);
    sched_rest(&lanes[0], &units[0][0], lanes_now);
    lanes_touch(0, 0);
    lanes_assert_starts_only_at(0, 0, 5200);
    lanes_done(0, 0, SCHED_DONE);
    sched_rest(&lanes[0], &units[0][0], 5200);
    lanes_touch(0, 0);
    sched_drop(&lanes[0], &units[0][0]); /* the change was none: back to rest */
    lanes_assert_starts_only_at(0, 0, 10200);
    lanes_done(0, 0, SCHED_DONE);
    assert_int_equal(sched_wake_ms(&lanes_sched),
                     NEVER_MS); /* the owner says whether there is another one */
    sched_rest(&lanes[0], &units[0][0], 10200);
    sched_rest(&lanes[0], &units[0][0], NEVER_MS);
    assert_int_equal(units[0][0].state, UNIT_IDLE);
    assert_int_equal(sched_wake_ms(&lanes_sched), NEVER_MS);
}

static void test_splay_is_added_to_reruns(void **state)
{
    struct lane_params p = lanes_params(0, 0, 1);

    (void)state;
    p.rerun_ms = 5000;
    p.splay_ms = 1000;
    lanes_init(0, p);
    for (size_t u = 0; u < UNITS; u++) {
        sched_rest(&lanes[0], &units[0][u], lanes_now);
        assert_in_range(units[0][u].rerun_at_ms, lanes_now + 5000, lanes_now + 6000);
    }
    assert_int_not_equal(units[0][0].rerun_at_ms, units[0][1].rerun_at_ms);
}

static void test_what_is_parked_waits_for_a_change_or_a_person(void **state)
{
    (void)state;
    lanes_init(0, lanes_params(0, 0, 1));
    lanes_touch(0, 0);
    lanes_assert_starts(0, 0);
    lanes_done(0, 0, SCHED_PARKED);
    assert_int_equal(lanes[0].parked, 1);
    lanes_assert_nothing();
    assert_int_equal(sched_wake_ms(&lanes_sched), NEVER_MS);
    sched_now(&lanes[0], &units[0][0]);
    assert_int_equal(lanes[0].parked, 0);
    lanes_assert_starts(0, 0);
    assert_int_equal(units[0][0].failures, 1); /* the ladder stays */
    lanes_done(0, 0, SCHED_PARKED);
    lanes_touch(0, 0);
    lanes_assert_starts_only_at(0, 0, lanes_now + INITIAL);
    lanes_done(0, 0, SCHED_PARKED);
    sched_drop(&lanes[0], &units[0][0]);
    assert_int_equal(lanes[0].parked, 0);
    assert_int_equal(units[0][0].failures, 0);
}

static void test_attempts_used_up_park(void **state)
{
    struct lane_params p = lanes_params(0, 0, 1);

    (void)state;
    p.attempts = 2;
    lanes_init(0, p);
    lanes_touch(0, 0);
    lanes_assert_starts(0, 0);
    assert_false(sched_is_last_try(&lanes[0], &units[0][0]));
    lanes_done(0, 0, SCHED_FAILED);
    lanes_assert_starts_only_at(0, 0, lanes_now + INITIAL);
    assert_true(sched_is_last_try(&lanes[0], &units[0][0]));
    lanes_touch(0, 0); /* what has changed deserves a try of its own */
    lanes_done(0, 0, SCHED_FAILED);
    lanes_assert_starts_only_at(0, 0, lanes_now + INITIAL);
    lanes_done(0, 0, SCHED_FAILED);
    assert_int_equal(units[0][0].state, UNIT_PARKED);
}

static void test_a_blocked_lane_starts_nothing_and_wakes_nobody(void **state)
{
    (void)state;
    lanes_init(0, lanes_params(200, 2000, 1));
    sched_block(&lanes[0], true);
    lanes_touch(0, 0);
    lanes_touch(1, 0);
    lanes_now += 200;
    lanes_assert_starts(1, 0); /* the others go on */
    lanes_assert_nothing();
    assert_int_equal(sched_wake_ms(&lanes_sched), NEVER_MS);
    sched_block(&lanes[0], false);
    assert_true(sched_wake_ms(&lanes_sched) <= lanes_now);
    lanes_assert_starts(0, 0);
}

static void test_now_starts_whatever_it_waits_for(void **state)
{
    (void)state;
    lanes_init(0, lanes_params(200, 2000, 1));
    lanes_touch(0, 0);
    sched_now(&lanes[0], &units[0][0]); /* settling */
    lanes_assert_starts(0, 0);
    sched_now(&lanes[0], &units[0][0]); /* running: nothing */
    lanes_done(0, 0, SCHED_FAILED);
    sched_now(&lanes[0], &units[0][0]); /* backoff */
    sched_now(&lanes[0], &units[0][0]); /* ready: it keeps its place */
    lanes_assert_starts(0, 0);
    lanes_done(0, 0, SCHED_DONE);
    sched_now(&lanes[0], &units[0][0]); /* idle */
    lanes_assert_starts(0, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_min_interval_counts_from_the_start_of_what_really_starts),
        cmocka_unit_test(test_min_interval_counts_from_a_start_that_had_to_wait),
        cmocka_unit_test(test_a_lane_that_waits_for_a_slot_does_not_wake_for_min_interval),
        cmocka_unit_test(test_splay_is_added_to_each_burst_and_drawn_once),
        cmocka_unit_test(test_splay_without_settling_waits_too),
        cmocka_unit_test(test_a_unit_rests_until_its_rerun_unless_something_changes),
        cmocka_unit_test(test_splay_is_added_to_reruns),
        cmocka_unit_test(test_what_is_parked_waits_for_a_change_or_a_person),
        cmocka_unit_test(test_attempts_used_up_park),
        cmocka_unit_test(test_a_blocked_lane_starts_nothing_and_wakes_nobody),
        cmocka_unit_test(test_now_starts_whatever_it_waits_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
