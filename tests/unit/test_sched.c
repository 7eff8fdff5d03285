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

static void test_without_settling_a_change_starts_at_once(void **state)
{
    (void)state;
    init(0, params(0, 2000, 1));
    assert_nothing();
    assert_int_equal(sched_wake_ms(&s), NEVER_MS);
    touch(0, 0);
    assert_starts(0, 0);
    assert_nothing();
    done(0, 0, SCHED_DONE);
    assert_nothing();
    assert_int_equal(sched_wake_ms(&s), NEVER_MS);
}

static void test_a_change_waits_for_quiet(void **state)
{
    (void)state;
    init(0, params(200, 2000, 1));
    touch(0, 0);
    now += 150;
    touch(0, 0);
    assert_starts_only_at(0, 0, 5000 + 150 + 200);
}

static void test_a_burst_without_quiet_ends_at_the_maximum(void **state)
{
    (void)state;
    init(0, params(200, 2000, 1));
    for (int i = 0; i < 20; i++, now += 100)
        touch(0, 0);
    assert_starts(0, 0);
    assert_int_equal(now, 7000);
    done(0, 0, SCHED_DONE);
    touch(0, 0); /* another burst has its own maximum */
    assert_starts_only_at(0, 0, 7200);
}

static void test_changes_while_it_runs_settle_from_the_first_of_them(void **state)
{
    (void)state;
    init(0, params(200, 300, 1));
    touch(0, 0);
    now += 200;
    assert_starts(0, 0);
    now += 100;
    touch(0, 0);
    now += 150;
    touch(0, 0);
    done(0, 0, SCHED_AGAIN);
    assert_starts_only_at(0, 0, 5300 + 300);
    now += 1000;
    done(0, 0, SCHED_AGAIN); /* something is left although nothing changed */
    assert_starts_only_at(0, 0, 6600 + 200);
}

static void test_failures_climb_a_ladder_per_unit_and_success_resets_it(void **state)
{
    static const uint64_t ladder[] = {1000, 2000, 4000, 8000, 8000};

    (void)state;
    init(9, params(0, 0, 9));
    touch(0, 0);
    for (size_t i = 0; i < ARRAY_LEN(ladder); i++) {
        assert_starts(0, 0);
        assert_int_equal(units[0][0].failures, i);
        now += 50;
        done(0, 0, SCHED_FAILED);
        assert_nothing();
        assert_int_equal(sched_wake_ms(&s), now + ladder[i]);
        now += ladder[i];
    }
    touch(0, 1);
    assert_starts(0, 1);
    assert_starts(0, 0);
    done(0, 1, SCHED_FAILED);
    assert_int_equal(sched_wake_ms(&s), now + 1000);
    done(0, 0, SCHED_AGAIN);
    assert_starts(0, 0);
    assert_int_equal(units[0][0].failures, 0);
    done(0, 0, SCHED_FAILED);
    assert_int_equal(units[0][0].timer.due_ms, now + 1000);
}

static void fail_times(size_t l, size_t u, int times)
{
    for (int i = 0; i < times; i++) {
        now = i == 0 ? now : units[l][u].timer.due_ms;
        assert_starts(l, u);
        done(l, u, SCHED_FAILED);
    }
}

static void test_a_change_brings_the_next_try_forward_but_not_before_the_first_step(void **state)
{
    (void)state;
    init(0, params(200, 2000, 1));
    touch(0, 0);
    now += 200;
    fail_times(0, 0, 4);
    uint64_t end = now;
    assert_int_equal(sched_wake_ms(&s), end + 8000);
    now += 10;
    touch(0, 0);
    assert_int_equal(sched_wake_ms(&s), end + INITIAL);
    now = end + INITIAL - 1;
    touch(0, 0);
    assert_starts_only_at(0, 0, end + INITIAL);
    done(0, 0, SCHED_FAILED); /* the ladder goes on */
    assert_int_equal(sched_wake_ms(&s), now + 8000);
    now += 5000;
    touch(0, 0);
    assert_starts(0, 0);
}

static void test_a_change_while_it_fails_brings_the_next_try_forward_too(void **state)
{
    (void)state;
    init(0, params(0, 0, 1));
    touch(0, 0);
    fail_times(0, 0, 4);
    now = units[0][0].timer.due_ms;
    assert_starts(0, 0);
    now += 20;
    touch(0, 0); /* what failed was the state before */
    now += 20;
    done(0, 0, SCHED_FAILED);
    assert_int_equal(units[0][0].failures, 5);
    assert_starts_only_at(0, 0, now + INITIAL);
    done(0, 0, SCHED_FAILED);
    assert_int_equal(sched_wake_ms(&s), now + 8000);
}

static void test_hurry_starts_at_once_on_a_new_ladder(void **state)
{
    (void)state;
    init(0, params(200, 2000, 1));
    sched_hurry(&lanes[0], &units[0][0]);
    sched_hurry(&lanes[0], &units[0][0]);
    assert_starts(0, 0);
    sched_hurry(&lanes[0], &units[0][0]);
    done(0, 0, SCHED_FAILED);
    sched_hurry(&lanes[0], &units[0][0]);
    assert_starts(0, 0);
    assert_int_equal(units[0][0].failures, 0);
    done(0, 0, SCHED_FAILED);
    assert_int_equal(sched_wake_ms(&s), now + INITIAL);
}

static void test_drop_forgets_in_every_state_but_running(void **state)
{
    (void)state;
    init(0, params(200, 2000, 1));
    touch(0, 0);
    sched_drop(&lanes[0], &units[0][0]); /* settling */
    assert_int_equal(sched_wake_ms(&s), NEVER_MS);
    sched_hurry(&lanes[0], &units[0][0]);
    sched_drop(&lanes[0], &units[0][0]); /* ready */
    assert_nothing();
    sched_hurry(&lanes[0], &units[0][0]);
    assert_starts(0, 0);
    sched_drop(&lanes[0], &units[0][0]);
    assert_int_equal(units[0][0].state, UNIT_RUNNING);
    done(0, 0, SCHED_FAILED);
    sched_drop(&lanes[0], &units[0][0]); /* backoff */
    sched_drop(&lanes[0], &units[0][0]); /* idle */
    assert_int_equal(sched_wake_ms(&s), NEVER_MS);
    assert_int_equal(units[0][0].failures, 0);
}

static void test_hanging_units_never_take_another_hooks_own_slot(void **state)
{
    (void)state;
    init(3, params(0, 0, 8));
    for (size_t u = 0; u < 8; u++)
        touch(0, u);
    for (size_t u = 0; u < 4; u++)
        assert_starts(0, u); /* its own and the shared three */
    assert_nothing();
    for (size_t l = 1; l < LANES; l++) {
        touch(l, 0);
        touch(l, 1);
        assert_starts(l, 0);
        assert_nothing();
    }
    done(1, 0, SCHED_DONE);
    assert_starts(1, 1);
    assert_nothing();
    done(0, 2, SCHED_DONE); /* a shared one is free: now it is another's turn */
    touch(2, 2);
    assert_starts(0, 4);
    assert_nothing();
}

static void test_concurrency_bounds_a_lane(void **state)
{
    (void)state;
    init(100, params(0, 0, 2));
    for (size_t u = 0; u < 3; u++)
        touch(0, u);
    assert_starts(0, 0);
    assert_starts(0, 1);
    assert_nothing();
    done(0, 1, SCHED_DONE);
    assert_starts(0, 2);
    assert_nothing();
}

static void test_shared_slots_go_round(void **state)
{
    size_t started[LANES] = {0};
    struct lane *lane;

    (void)state;
    init(4, params(0, 0, 10));
    for (size_t l = 0; l < LANES; l++)
        for (size_t u = 0; u < UNITS; u++)
            touch(l, u);
    while (sched_next(&s, now, &lane) != NULL)
        started[lane - lanes]++;
    for (size_t l = 0; l < LANES; l++)
        assert_int_equal(started[l], 2);
}

static void test_units_of_a_lane_come_in_order(void **state)
{
    (void)state;
    init(0, params(0, 0, 1));
    for (size_t u = 0; u < UNITS; u++)
        touch(0, UNITS - 1 - u);
    for (size_t u = 0; u < UNITS; u++) {
        assert_starts(0, UNITS - 1 - u);
        if (u == 0)
            touch(0, UNITS - 1);
        done(0, UNITS - 1 - u, u == 0 ? SCHED_AGAIN : SCHED_DONE);
    }
    assert_starts(0, UNITS - 1);
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
    assert_int_equal(shared, s.shared_used);
    assert_true(shared <= s.shared);
}

/* Nothing that could run is left waiting, and the alarm is set for what comes next. */
static void check_idle(void)
{
    uint64_t soonest = NEVER_MS;

    for (size_t l = 0; l < LANES; l++) {
        bool own = lanes[l].running == 0;
        bool more = lanes[l].running < lanes[l].params.concurrency && s.shared_used < s.shared;

        for (size_t u = 0; u < UNITS; u++) {
            const struct unit *unit = &units[l][u];

            assert_false(unit->state == UNIT_READY && (own || more));
            assert_true(expect[l][u].not_before == 0 || unit->state != UNIT_IDLE);
            if (unit->state == UNIT_SETTLING || unit->state == UNIT_BACKOFF)
                soonest = unit->timer.due_ms < soonest ? unit->timer.due_ms : soonest;
        }
    }
    assert_int_equal(sched_wake_ms(&s), soonest);
    assert_true(soonest > now);
}

static void start_all(void)
{
    struct lane *lane;
    struct unit *unit;

    while ((unit = sched_next(&s, now, &lane)) != NULL) {
        struct expect *e = &expect[lane - lanes][unit - units[lane - lanes]];

        assert_true(e->not_before > 0 && now >= e->not_before);
        e->not_before = 0;
        check_slots();
    }
    check_idle();
}

static void random_touch(size_t l, size_t u)
{
    const struct unit *unit = &units[l][u];
    struct expect *e = &expect[l][u];
    uint64_t settled = now + lanes[l].params.settle_ms;
    uint64_t last =
        (unit->state == UNIT_SETTLING ? unit->first_ms : now) + lanes[l].params.settle_max_ms;

    touch(l, u);
    if (unit->state == UNIT_SETTLING)
        e->not_before = settled < last ? settled : last;
    else if (unit->state != UNIT_RUNNING && e->not_before == 0)
        e->not_before = now;
    else if (unit->state == UNIT_BACKOFF)
        e->not_before = unit->ended_ms + INITIAL;
}

static void random_end(size_t l, size_t u)
{
    enum sched_result result = (enum sched_result)pick(3);
    bool changed = units[l][u].first_ms != NEVER_MS;

    if (changed && result == SCHED_DONE)
        result = SCHED_AGAIN;
    done(l, u, result);
    expect[l][u].not_before = result == SCHED_DONE ? 0 : now;
    if (result == SCHED_FAILED)
        expect[l][u].not_before = now + INITIAL;
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
        expect[l][u].not_before = now;
    } else {
        random_touch(l, u);
    }
    if (pick(4) == 0)
        now += pick(700);
}

static void run_program(uint64_t seed)
{
    rng_seed(&rng, seed);
    uint64_t settle = pick(2) * pick(400);
    init((unsigned)pick(6), params(settle, settle + pick(900), 1 + (unsigned)pick(4)));
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
