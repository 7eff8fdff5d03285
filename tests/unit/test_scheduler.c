/* SPDX-License-Identifier: Apache-2.0 */
#include "scheduler_rig.h"

static void test_without_settling_a_change_starts_at_once(void **state)
{
    (void)state;
    scheduler_rig_init(0, scheduler_rig_params(0, 2000, 1));
    scheduler_rig_assert_nothing();
    assert_int_equal(scheduler_wake_ms(&scheduler_rig_sched), NEVER_MS);
    scheduler_rig_touch(0, 0);
    scheduler_rig_assert_starts(0, 0);
    scheduler_rig_assert_nothing();
    scheduler_rig_done(0, 0, SCHEDULER_DONE);
    scheduler_rig_assert_nothing();
    assert_int_equal(scheduler_wake_ms(&scheduler_rig_sched), NEVER_MS);
}

static void test_a_change_waits_for_quiet(void **state)
{
    (void)state;
    scheduler_rig_init(0, scheduler_rig_params(200, 2000, 1));
    scheduler_rig_touch(0, 0);
    scheduler_rig_now += 150;
    scheduler_rig_touch(0, 0);
    scheduler_rig_assert_starts_only_at(0, 0, 5000 + 150 + 200);
}

static void test_a_burst_without_quiet_ends_at_the_maximum(void **state)
{
    (void)state;
    scheduler_rig_init(0, scheduler_rig_params(200, 2000, 1));
    for (int i = 0; i < 20; i++, scheduler_rig_now += 100)
        scheduler_rig_touch(0, 0);
    scheduler_rig_assert_starts(0, 0);
    assert_int_equal(scheduler_rig_now, 7000);
    scheduler_rig_done(0, 0, SCHEDULER_DONE);
    scheduler_rig_touch(0, 0); /* another burst has its own maximum */
    scheduler_rig_assert_starts_only_at(0, 0, 7200);
}

static void test_changes_while_it_runs_settle_from_the_first_of_them(void **state)
{
    (void)state;
    scheduler_rig_init(0, scheduler_rig_params(200, 300, 1));
    scheduler_rig_touch(0, 0);
    scheduler_rig_now += 200;
    scheduler_rig_assert_starts(0, 0);
    scheduler_rig_now += 100;
    scheduler_rig_touch(0, 0);
    scheduler_rig_now += 150;
    scheduler_rig_touch(0, 0);
    scheduler_rig_done(0, 0, SCHEDULER_AGAIN);
    scheduler_rig_assert_starts_only_at(0, 0, 5300 + 300);
    scheduler_rig_now += 1000;
    scheduler_rig_done(0, 0, SCHEDULER_AGAIN); /* a retry is left although nothing changed */
    scheduler_rig_assert_starts_only_at(0, 0, 6600 + 200);
}

static void test_failures_climb_a_backoff_per_work_item_and_success_resets_it(void **state)
{
    static const uint64_t backoff[] = {1000, 2000, 4000, 8000, 8000};

    (void)state;
    scheduler_rig_init(9, scheduler_rig_params(0, 0, 9));
    scheduler_rig_touch(0, 0);
    for (size_t i = 0; i < ARRAY_LEN(backoff); i++) {
        scheduler_rig_assert_starts(0, 0);
        assert_int_equal(work_items[0][0].failures, i);
        scheduler_rig_now += 50;
        scheduler_rig_done(0, 0, SCHEDULER_FAILED);
        scheduler_rig_assert_nothing();
        assert_int_equal(scheduler_wake_ms(&scheduler_rig_sched), scheduler_rig_now + backoff[i]);
        scheduler_rig_now += backoff[i];
    }
    scheduler_rig_touch(0, 1);
    scheduler_rig_assert_starts(0, 1);
    scheduler_rig_assert_starts(0, 0);
    scheduler_rig_done(0, 1, SCHEDULER_FAILED);
    assert_int_equal(scheduler_wake_ms(&scheduler_rig_sched), scheduler_rig_now + 1000);
    scheduler_rig_done(0, 0, SCHEDULER_AGAIN);
    scheduler_rig_assert_starts(0, 0);
    assert_int_equal(work_items[0][0].failures, 0);
    scheduler_rig_done(0, 0, SCHEDULER_FAILED);
    assert_int_equal(work_items[0][0].timer.due_ms, scheduler_rig_now + 1000);
}

static void fail_times(size_t l, size_t u, int times)
{
    for (int i = 0; i < times; i++) {
        scheduler_rig_now = i == 0 ? scheduler_rig_now : work_items[l][u].timer.due_ms;
        scheduler_rig_assert_starts(l, u);
        scheduler_rig_done(l, u, SCHEDULER_FAILED);
    }
}

static void test_a_change_brings_the_next_try_forward_but_not_before_the_first_step(void **state)
{
    (void)state;
    scheduler_rig_init(0, scheduler_rig_params(200, 2000, 1));
    scheduler_rig_touch(0, 0);
    scheduler_rig_now += 200;
    fail_times(0, 0, 4);
    uint64_t end = scheduler_rig_now;
    assert_int_equal(scheduler_wake_ms(&scheduler_rig_sched), end + 8000);
    scheduler_rig_now += 10;
    scheduler_rig_touch(0, 0);
    assert_int_equal(scheduler_wake_ms(&scheduler_rig_sched), end + INITIAL);
    scheduler_rig_now = end + INITIAL - 1;
    scheduler_rig_touch(0, 0);
    scheduler_rig_assert_starts_only_at(0, 0, end + INITIAL);
    scheduler_rig_done(0, 0, SCHEDULER_FAILED); /* the backoff goes on */
    assert_int_equal(scheduler_wake_ms(&scheduler_rig_sched), scheduler_rig_now + 8000);
    scheduler_rig_now += 5000;
    scheduler_rig_touch(0, 0);
    scheduler_rig_assert_starts(0, 0);
}

static void test_a_change_while_it_fails_brings_the_next_try_forward_too(void **state)
{
    (void)state;
    scheduler_rig_init(0, scheduler_rig_params(0, 0, 1));
    scheduler_rig_touch(0, 0);
    fail_times(0, 0, 4);
    scheduler_rig_now = work_items[0][0].timer.due_ms;
    scheduler_rig_assert_starts(0, 0);
    scheduler_rig_now += 20;
    scheduler_rig_touch(0, 0); /* the run that failed was about the state before */
    scheduler_rig_now += 20;
    scheduler_rig_done(0, 0, SCHEDULER_FAILED);
    assert_int_equal(work_items[0][0].failures, 5);
    scheduler_rig_assert_starts_only_at(0, 0, scheduler_rig_now + INITIAL);
    scheduler_rig_done(0, 0, SCHEDULER_FAILED);
    assert_int_equal(scheduler_wake_ms(&scheduler_rig_sched), scheduler_rig_now + 8000);
}

static void test_hurry_starts_at_once_on_a_new_backoff(void **state)
{
    (void)state;
    scheduler_rig_init(0, scheduler_rig_params(200, 2000, 1));
    scheduler_hurry(&work_queues[0], &work_items[0][0]);
    scheduler_hurry(&work_queues[0], &work_items[0][0]);
    scheduler_rig_assert_starts(0, 0);
    scheduler_hurry(&work_queues[0], &work_items[0][0]);
    scheduler_rig_done(0, 0, SCHEDULER_FAILED);
    scheduler_hurry(&work_queues[0], &work_items[0][0]);
    scheduler_rig_assert_starts(0, 0);
    assert_int_equal(work_items[0][0].failures, 0);
    scheduler_rig_done(0, 0, SCHEDULER_FAILED);
    assert_int_equal(scheduler_wake_ms(&scheduler_rig_sched), scheduler_rig_now + INITIAL);
}

static void test_drop_forgets_in_every_state_but_running(void **state)
{
    (void)state;
    scheduler_rig_init(0, scheduler_rig_params(200, 2000, 1));
    scheduler_rig_touch(0, 0);
    scheduler_drop(&work_queues[0], &work_items[0][0]); /* settling */
    assert_int_equal(scheduler_wake_ms(&scheduler_rig_sched), NEVER_MS);
    scheduler_hurry(&work_queues[0], &work_items[0][0]);
    scheduler_drop(&work_queues[0], &work_items[0][0]); /* ready */
    scheduler_rig_assert_nothing();
    scheduler_hurry(&work_queues[0], &work_items[0][0]);
    scheduler_rig_assert_starts(0, 0);
    scheduler_drop(&work_queues[0], &work_items[0][0]);
    assert_int_equal(work_items[0][0].state, WORK_ITEM_RUNNING);
    scheduler_rig_done(0, 0, SCHEDULER_FAILED);
    scheduler_drop(&work_queues[0], &work_items[0][0]); /* backoff */
    scheduler_drop(&work_queues[0], &work_items[0][0]); /* idle */
    assert_int_equal(scheduler_wake_ms(&scheduler_rig_sched), NEVER_MS);
    assert_int_equal(work_items[0][0].failures, 0);
}

static void test_hanging_work_items_never_take_another_hooks_own_slot(void **state)
{
    (void)state;
    scheduler_rig_init(3, scheduler_rig_params(0, 0, 8));
    for (size_t u = 0; u < 8; u++)
        scheduler_rig_touch(0, u);
    for (size_t u = 0; u < 4; u++)
        scheduler_rig_assert_starts(0, u); /* its own slot and the shared three */
    scheduler_rig_assert_nothing();
    for (size_t l = 1; l < WORK_QUEUES; l++) {
        scheduler_rig_touch(l, 0);
        scheduler_rig_touch(l, 1);
        scheduler_rig_assert_starts(l, 0);
        scheduler_rig_assert_nothing();
    }
    scheduler_rig_done(1, 0, SCHEDULER_DONE);
    scheduler_rig_assert_starts(1, 1);
    scheduler_rig_assert_nothing();
    scheduler_rig_done(
        0, 2, SCHEDULER_DONE); /* a shared slot is free: now it is the other queue's turn */
    scheduler_rig_touch(2, 2);
    scheduler_rig_assert_starts(0, 4);
    scheduler_rig_assert_nothing();
}

static void test_concurrency_bounds_a_work_queue(void **state)
{
    (void)state;
    scheduler_rig_init(100, scheduler_rig_params(0, 0, 2));
    for (size_t u = 0; u < 3; u++)
        scheduler_rig_touch(0, u);
    scheduler_rig_assert_starts(0, 0);
    scheduler_rig_assert_starts(0, 1);
    scheduler_rig_assert_nothing();
    scheduler_rig_done(0, 1, SCHEDULER_DONE);
    scheduler_rig_assert_starts(0, 2);
    scheduler_rig_assert_nothing();
}

static void test_shared_slots_go_round(void **state)
{
    size_t started[WORK_QUEUES] = {0};
    struct work_queue *work_queue;

    (void)state;
    scheduler_rig_init(4, scheduler_rig_params(0, 0, 10));
    for (size_t l = 0; l < WORK_QUEUES; l++)
        for (size_t u = 0; u < WORK_ITEMS; u++)
            scheduler_rig_touch(l, u);
    while (scheduler_next(&scheduler_rig_sched, scheduler_rig_now, &work_queue) != NULL)
        started[work_queue - work_queues]++;
    for (size_t l = 0; l < WORK_QUEUES; l++)
        assert_int_equal(started[l], 2);
}

static void test_work_items_of_a_work_queue_come_in_order(void **state)
{
    (void)state;
    scheduler_rig_init(0, scheduler_rig_params(0, 0, 1));
    for (size_t u = 0; u < WORK_ITEMS; u++)
        scheduler_rig_touch(0, WORK_ITEMS - 1 - u);
    for (size_t u = 0; u < WORK_ITEMS; u++) {
        scheduler_rig_assert_starts(0, WORK_ITEMS - 1 - u);
        if (u == 0)
            scheduler_rig_touch(0, WORK_ITEMS - 1);
        scheduler_rig_done(0, WORK_ITEMS - 1 - u, u == 0 ? SCHEDULER_AGAIN : SCHEDULER_DONE);
    }
    scheduler_rig_assert_starts(0, WORK_ITEMS - 1);
}

/* ---- Random programs. */

struct expect {
    uint64_t not_before; /* the earliest start, 0 = none is due */
};

static struct expect expect[WORK_QUEUES][WORK_ITEMS];
static struct rng rng;

static uint64_t pick(uint64_t n)
{
    return rng_between(&rng, 0, n - 1);
}

static void check_slots(void)
{
    unsigned shared = 0;

    for (size_t l = 0; l < WORK_QUEUES; l++) {
        unsigned running = 0;

        for (size_t u = 0; u < WORK_ITEMS; u++)
            running += work_items[l][u].state == WORK_ITEM_RUNNING;
        assert_int_equal(running, work_queues[l].running);
        assert_true(running <= work_queues[l].params.concurrency);
        shared += running > 1 ? running - 1 : 0;
    }
    assert_int_equal(shared, scheduler_rig_sched.shared_used);
    assert_true(shared <= scheduler_rig_sched.shared);
}

/* No work item that could run is left waiting, and the scheduler wakes up for the next one. */
static void check_idle(void)
{
    uint64_t soonest = NEVER_MS;

    for (size_t l = 0; l < WORK_QUEUES; l++) {
        bool own = work_queues[l].running == 0;
        bool more = work_queues[l].running < work_queues[l].params.concurrency &&
                    scheduler_rig_sched.shared_used < scheduler_rig_sched.shared;

        for (size_t u = 0; u < WORK_ITEMS; u++) {
            const struct work_item *work_item = &work_items[l][u];

            assert_false(work_item->state == WORK_ITEM_READY && (own || more));
            assert_true(expect[l][u].not_before == 0 || work_item->state != WORK_ITEM_IDLE);
            if (work_item->state == WORK_ITEM_SETTLING || work_item->state == WORK_ITEM_BACKOFF)
                soonest = work_item->timer.due_ms < soonest ? work_item->timer.due_ms : soonest;
        }
    }
    assert_int_equal(scheduler_wake_ms(&scheduler_rig_sched), soonest);
    assert_true(soonest > scheduler_rig_now);
}

static void start_all(void)
{
    struct work_queue *work_queue;
    struct work_item *work_item;

    while ((work_item = scheduler_next(&scheduler_rig_sched, scheduler_rig_now, &work_queue)) !=
           NULL) {
        struct expect *e =
            &expect[work_queue - work_queues][work_item - work_items[work_queue - work_queues]];

        assert_true(e->not_before > 0 && scheduler_rig_now >= e->not_before);
        e->not_before = 0;
        check_slots();
    }
    check_idle();
}

static void random_touch(size_t l, size_t u)
{
    const struct work_item *work_item = &work_items[l][u];
    struct expect *e = &expect[l][u];
    uint64_t settled = scheduler_rig_now + work_queues[l].params.settle_ms;
    uint64_t last =
        (work_item->state == WORK_ITEM_SETTLING ? work_item->first_ms : scheduler_rig_now) +
        work_queues[l].params.settle_max_ms;

    scheduler_rig_touch(l, u);
    if (work_item->state == WORK_ITEM_SETTLING)
        e->not_before = settled < last ? settled : last;
    else if (work_item->state != WORK_ITEM_RUNNING && e->not_before == 0)
        e->not_before = scheduler_rig_now;
    else if (work_item->state == WORK_ITEM_BACKOFF)
        e->not_before = work_item->ended_ms + INITIAL;
}

static void random_end(size_t l, size_t u)
{
    enum scheduler_result result = (enum scheduler_result)pick(3);
    bool changed = work_items[l][u].first_ms != NEVER_MS;

    if (changed && result == SCHEDULER_DONE)
        result = SCHEDULER_AGAIN;
    scheduler_rig_done(l, u, result);
    expect[l][u].not_before = result == SCHEDULER_DONE ? 0 : scheduler_rig_now;
    if (result == SCHEDULER_FAILED)
        expect[l][u].not_before = scheduler_rig_now + INITIAL;
}

static void random_step(void)
{
    size_t l = pick(WORK_QUEUES);
    size_t u = pick(WORK_ITEMS);

    if (work_items[l][u].state == WORK_ITEM_RUNNING && pick(3) > 0) {
        random_end(l, u);
    } else if (pick(12) == 0 && work_items[l][u].state != WORK_ITEM_RUNNING) {
        scheduler_drop(&work_queues[l], &work_items[l][u]);
        expect[l][u].not_before = 0;
    } else if (pick(12) == 0 && work_items[l][u].state != WORK_ITEM_RUNNING) {
        scheduler_hurry(&work_queues[l], &work_items[l][u]);
        expect[l][u].not_before = scheduler_rig_now;
    } else {
        random_touch(l, u);
    }
    if (pick(4) == 0)
        scheduler_rig_now += pick(700);
}

static void run_program(uint64_t seed)
{
    rng_seed(&rng, seed);
    uint64_t settle = pick(2) * pick(400);
    scheduler_rig_init((unsigned)pick(6),
                       scheduler_rig_params(settle, settle + pick(900), 1 + (unsigned)pick(4)));
    for (size_t l = 0; l < WORK_QUEUES; l++)
        for (size_t u = 0; u < WORK_ITEMS; u++)
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
        cmocka_unit_test(test_failures_climb_a_backoff_per_work_item_and_success_resets_it),
        cmocka_unit_test(test_a_change_brings_the_next_try_forward_but_not_before_the_first_step),
        cmocka_unit_test(test_a_change_while_it_fails_brings_the_next_try_forward_too),
        cmocka_unit_test(test_hurry_starts_at_once_on_a_new_backoff),
        cmocka_unit_test(test_drop_forgets_in_every_state_but_running),
        cmocka_unit_test(test_hanging_work_items_never_take_another_hooks_own_slot),
        cmocka_unit_test(test_concurrency_bounds_a_work_queue),
        cmocka_unit_test(test_shared_slots_go_round),
        cmocka_unit_test(test_work_items_of_a_work_queue_come_in_order),
        cmocka_unit_test(test_random_programs_keep_the_rules),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
