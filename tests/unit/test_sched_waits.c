/* SPDX-License-Identifier: Apache-2.0 */
#include "objects.h"

#include "hook/sched.h"

enum { LANES = 4, UNITS = 10, INITIAL = 1000 };

static struct sched s;
static struct lane lanes[LANES];
static struct unit units[LANES][UNITS];
static uint64_t now;

static struct lane_params params(uint64_t settle_ms, uint64_t max_ms, unsigned concurrency)
{
    return (struct lane_params){
        .settle_ms = settle_ms,
        .settle_max_ms = max_ms,
        .concurrency = concurrency,
        .retry = {.initial_ms = INITIAL, .max_ms = 8000, .factor = 2}
    };
}

/* All lanes with the same parameters. */
static void init(unsigned shared, struct lane_params p)
{
    now = 5000;
    sched_init(&s, shared, 1);
    for (size_t l = 0; l < LANES; l++) {
        sched_add(&s, &lanes[l], &p);
        for (size_t u = 0; u < UNITS; u++)
            units[l][u] = (struct unit){0};
    }
}

static void touch(size_t l, size_t u)
{
    sched_touch(&lanes[l], &units[l][u], now);
}

static void assert_starts(size_t l, size_t u)
{
    struct lane *lane = NULL;

    assert_ptr_equal(sched_next(&s, now, &lane), &units[l][u]);
    assert_ptr_equal(lane, &lanes[l]);
    assert_int_equal(units[l][u].state, UNIT_RUNNING);
}

static void assert_nothing(void)
{
    struct lane *lane;

    assert_null(sched_next(&s, now, &lane));
}

static void assert_starts_only_at(size_t l, size_t u, uint64_t ms)
{
    assert_nothing();
    assert_int_equal(sched_wake_ms(&s), ms);
    now = ms - 1;
    assert_nothing();
    now = ms;
    assert_starts(l, u);
}

static void done(size_t l, size_t u, enum sched_result result)
{
    sched_done(&s, &lanes[l], &units[l][u], result, now);
}

static void test_min_interval_counts_from_the_start_of_what_really_starts(void **state)
{
    struct lane_params p = params(0, 0, 3);

    (void)state;
    p.min_interval_ms = 500;
    init(8, p);
    touch(0, 0);
    touch(0, 1);
    touch(1, 0);
    assert_starts(0, 0);
    assert_starts(1, 0); /* each lane has its own */
    sched_started(&lanes[0], now);
    assert_starts_only_at(0, 1, 5500); /* though it has slots */
    touch(0, 2);
    assert_starts(0, 2); /* nothing was really started */
}

static void test_a_lane_that_waits_for_a_slot_does_not_wake_for_min_interval(void **state)
{
    struct lane_params p = params(0, 0, 1);

    (void)state;
    p.min_interval_ms = 500;
    init(8, p);
    touch(0, 0);
    touch(0, 1);
    assert_starts(0, 0);
    sched_started(&lanes[0], now);
    assert_nothing();
    assert_int_equal(sched_wake_ms(&s), NEVER_MS);
    done(0, 0, SCHED_DONE);
    assert_starts_only_at(0, 1, 5500);
}

static void test_splay_is_added_to_each_burst_and_drawn_once(void **state)
{
    struct lane_params p = params(200, 2000, 1);
    uint64_t least = UINT64_MAX;
    uint64_t most = 0;

    (void)state;
    p.splay_ms = 100;
    init(0, p);
    for (int i = 0; i < 200; i++) {
        touch(0, 0);
        uint64_t due = sched_wake_ms(&s);
        uint64_t splay = due - now - 200;
        now += 50;
        touch(0, 0);
        assert_int_equal(sched_wake_ms(&s), due + 50);
        now = due + 50;
        assert_starts(0, 0);
        done(0, 0, SCHED_DONE);
        least = splay < least ? splay : least;
        most = splay > most ? splay : most;
    }
    assert_true(least < 10 && most > 90 && most <= 100);
    sched_hurry(&lanes[0], &units[0][0]); /* first runs do not wait for it */
    assert_starts(0, 0);
    done(0, 0, SCHED_FAILED);
    assert_starts_only_at(0, 0, now + INITIAL); /* nor do retries */
}

static void test_splay_without_settling_waits_too(void **state)
{
    struct lane_params p = params(0, 0, 1);

    (void)state;
    p.splay_ms = 100;
    init(0, p);
    for (int i = 0; i < 20; i++) {
        touch(0, 0);
        uint64_t due = units[0][0].state == UNIT_SETTLING ? sched_wake_ms(&s) : now;
        assert_in_range(due, now, now + 100);
        now = due;
        assert_starts(0, 0);
        done(0, 0, SCHED_DONE);
    }
}

static void test_a_unit_rests_until_its_rerun_unless_something_changes(void **state)
{
    struct lane_params p = params(200, 2000, 1);

    (void)state;
    p.rerun_ms = 5000;
    init(0, p);
    sched_rest(&lanes[0], &units[0][0], now);
    touch(0, 0);
    assert_starts_only_at(0, 0, 5200);
    done(0, 0, SCHED_DONE);
    sched_rest(&lanes[0], &units[0][0], 5200);
    touch(0, 0);
    sched_drop(&lanes[0], &units[0][0]); /* the change was none: back to rest */
    assert_starts_only_at(0, 0, 10200);
    done(0, 0, SCHED_DONE);
    assert_int_equal(sched_wake_ms(&s), NEVER_MS); /* the owner says whether there is another one */
    sched_rest(&lanes[0], &units[0][0], 10200);
    sched_rest(&lanes[0], &units[0][0], NEVER_MS);
    assert_int_equal(units[0][0].state, UNIT_IDLE);
    assert_int_equal(sched_wake_ms(&s), NEVER_MS);
}

static void test_splay_is_added_to_reruns(void **state)
{
    struct lane_params p = params(0, 0, 1);

    (void)state;
    p.rerun_ms = 5000;
    p.splay_ms = 1000;
    init(0, p);
    for (size_t u = 0; u < UNITS; u++) {
        sched_rest(&lanes[0], &units[0][u], now);
        assert_in_range(units[0][u].rerun_at_ms, now + 5000, now + 6000);
    }
    assert_int_not_equal(units[0][0].rerun_at_ms, units[0][1].rerun_at_ms);
}

static void test_what_is_parked_waits_for_a_change_or_a_person(void **state)
{
    (void)state;
    init(0, params(0, 0, 1));
    touch(0, 0);
    assert_starts(0, 0);
    done(0, 0, SCHED_PARKED);
    assert_int_equal(lanes[0].parked, 1);
    assert_nothing();
    assert_int_equal(sched_wake_ms(&s), NEVER_MS);
    sched_now(&lanes[0], &units[0][0]);
    assert_int_equal(lanes[0].parked, 0);
    assert_starts(0, 0);
    assert_int_equal(units[0][0].failures, 1); /* the ladder stays */
    done(0, 0, SCHED_PARKED);
    touch(0, 0);
    assert_starts_only_at(0, 0, now + INITIAL);
    done(0, 0, SCHED_PARKED);
    sched_drop(&lanes[0], &units[0][0]);
    assert_int_equal(lanes[0].parked, 0);
    assert_int_equal(units[0][0].failures, 0);
}

static void test_attempts_used_up_park(void **state)
{
    struct lane_params p = params(0, 0, 1);

    (void)state;
    p.attempts = 2;
    init(0, p);
    touch(0, 0);
    assert_starts(0, 0);
    assert_false(sched_is_last_try(&lanes[0], &units[0][0]));
    done(0, 0, SCHED_FAILED);
    assert_starts_only_at(0, 0, now + INITIAL);
    assert_true(sched_is_last_try(&lanes[0], &units[0][0]));
    touch(0, 0); /* what has changed deserves a try of its own */
    done(0, 0, SCHED_FAILED);
    assert_starts_only_at(0, 0, now + INITIAL);
    done(0, 0, SCHED_FAILED);
    assert_int_equal(units[0][0].state, UNIT_PARKED);
}

static void test_a_blocked_lane_starts_nothing_and_wakes_nobody(void **state)
{
    (void)state;
    init(0, params(200, 2000, 1));
    sched_block(&lanes[0], true);
    touch(0, 0);
    touch(1, 0);
    now += 200;
    assert_starts(1, 0); /* the others go on */
    assert_nothing();
    assert_int_equal(sched_wake_ms(&s), NEVER_MS);
    sched_block(&lanes[0], false);
    assert_true(sched_wake_ms(&s) <= now);
    assert_starts(0, 0);
}

static void test_now_starts_whatever_it_waits_for(void **state)
{
    (void)state;
    init(0, params(200, 2000, 1));
    touch(0, 0);
    sched_now(&lanes[0], &units[0][0]); /* settling */
    assert_starts(0, 0);
    sched_now(&lanes[0], &units[0][0]); /* running: nothing */
    done(0, 0, SCHED_FAILED);
    sched_now(&lanes[0], &units[0][0]); /* backoff */
    sched_now(&lanes[0], &units[0][0]); /* ready: it keeps its place */
    assert_starts(0, 0);
    done(0, 0, SCHED_DONE);
    sched_now(&lanes[0], &units[0][0]); /* idle */
    assert_starts(0, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_min_interval_counts_from_the_start_of_what_really_starts),
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
