/* SPDX-License-Identifier: Apache-2.0 */
#include "scheduler_rig.h"

static void test_min_interval_counts_from_the_last_real_start(void **state)
{
    struct work_queue_params p = scheduler_rig_params(0, 0, 3);

    (void)state;
    p.min_interval_ms = 500;
    scheduler_rig_init(8, p);
    scheduler_rig_touch(0, 0);
    scheduler_rig_touch(0, 1);
    scheduler_rig_touch(1, 0);
    scheduler_rig_assert_starts(0, 0);
    scheduler_rig_assert_starts(1, 0); /* each work queue has its own */
    scheduler_started(&work_queues[0], scheduler_rig_now);
    scheduler_rig_assert_starts_only_at(0, 1, 5500); /* though it has slots */
    scheduler_rig_touch(0, 2);
    scheduler_rig_assert_starts(0, 2); /* no program was really started */
}

static void test_min_interval_counts_from_a_start_that_had_to_wait(void **state)
{
    struct work_queue_params p = scheduler_rig_params(0, 0, 3);

    (void)state;
    p.min_interval_ms = 500;
    scheduler_rig_init(8, p);
    scheduler_rig_touch(0, 0);
    scheduler_rig_touch(0, 1);
    scheduler_rig_touch(0, 2);
    scheduler_rig_assert_starts(0, 0);
    scheduler_started(&work_queues[0], 5000);
    scheduler_began(&work_queues[0], 5000, 5070);
    scheduler_rig_assert_starts_only_at(0, 1, 5570);
    scheduler_started(&work_queues[0], 5570);
    scheduler_began(&work_queues[0], 5000, 5580); /* another run has started since */
    scheduler_rig_assert_starts_only_at(0, 2, 6070);
}

static void test_a_work_queue_that_waits_for_a_slot_does_not_wake_for_min_interval(void **state)
{
    struct work_queue_params p = scheduler_rig_params(0, 0, 1);

    (void)state;
    p.min_interval_ms = 500;
    scheduler_rig_init(8, p);
    scheduler_rig_touch(0, 0);
    scheduler_rig_touch(0, 1);
    scheduler_rig_assert_starts(0, 0);
    scheduler_started(&work_queues[0], scheduler_rig_now);
    scheduler_rig_assert_nothing();
    assert_int_equal(scheduler_wake_ms(&scheduler_rig_sched), NEVER_MS);
    scheduler_rig_done(0, 0, SCHEDULER_DONE);
    scheduler_rig_assert_starts_only_at(0, 1, 5500);
}

static void test_splay_is_added_to_each_burst_and_drawn_once(void **state)
{
    struct work_queue_params p = scheduler_rig_params(200, 2000, 1);
    uint64_t least = UINT64_MAX;
    uint64_t most = 0;

    (void)state;
    p.splay_ms = 100;
    scheduler_rig_init(0, p);
    for (int i = 0; i < 200; i++) {
        scheduler_rig_touch(0, 0);
        uint64_t due = scheduler_wake_ms(&scheduler_rig_sched);
        uint64_t splay = due - scheduler_rig_now - 200;
        scheduler_rig_now += 50;
        scheduler_rig_touch(0, 0);
        assert_int_equal(scheduler_wake_ms(&scheduler_rig_sched), due + 50);
        scheduler_rig_now = due + 50;
        scheduler_rig_assert_starts(0, 0);
        scheduler_rig_done(0, 0, SCHEDULER_DONE);
        least = splay < least ? splay : least;
        most = splay > most ? splay : most;
    }
    assert_true(least < 10 && most > 90 && most <= 100);
    scheduler_hurry(&work_queues[0], &work_items[0][0]); /* first runs do not wait for it */
    scheduler_rig_assert_starts(0, 0);
    scheduler_rig_done(0, 0, SCHEDULER_FAILED);
    scheduler_rig_assert_starts_only_at(0, 0, scheduler_rig_now + INITIAL); /* nor do retries */
}

static void test_splay_without_settling_waits_too(void **state)
{
    struct work_queue_params p = scheduler_rig_params(0, 0, 1);

    (void)state;
    p.splay_ms = 100;
    scheduler_rig_init(0, p);
    for (int i = 0; i < 20; i++) {
        scheduler_rig_touch(0, 0);
        uint64_t due = work_items[0][0].state == WORK_ITEM_SETTLING
                           ? scheduler_wake_ms(&scheduler_rig_sched)
                           : scheduler_rig_now;
        assert_in_range(due, scheduler_rig_now, scheduler_rig_now + 100);
        scheduler_rig_now = due;
        scheduler_rig_assert_starts(0, 0);
        scheduler_rig_done(0, 0, SCHEDULER_DONE);
    }
}

static void test_a_work_item_rests_until_its_rerun_unless_something_changes(void **state)
{
    struct work_queue_params p = scheduler_rig_params(200, 2000, 1);

    (void)state;
    p.rerun_ms = 5000;
    scheduler_rig_init(0, p);
    scheduler_rest(&work_queues[0], &work_items[0][0], scheduler_rig_now);
    scheduler_rig_touch(0, 0);
    scheduler_rig_assert_starts_only_at(0, 0, 5200);
    scheduler_rig_done(0, 0, SCHEDULER_DONE);
    scheduler_rest(&work_queues[0], &work_items[0][0], 5200);
    scheduler_rig_touch(0, 0);
    scheduler_drop(&work_queues[0],
                   &work_items[0][0]); /* the change has cancelled out: the item rests again */
    scheduler_rig_assert_starts_only_at(0, 0, 10200);
    scheduler_rig_done(0, 0, SCHEDULER_DONE);
    assert_int_equal(scheduler_wake_ms(&scheduler_rig_sched),
                     NEVER_MS); /* only the owner knows whether there is another change */
    scheduler_rest(&work_queues[0], &work_items[0][0], 10200);
    scheduler_rest(&work_queues[0], &work_items[0][0], NEVER_MS);
    assert_int_equal(work_items[0][0].state, WORK_ITEM_IDLE);
    assert_int_equal(scheduler_wake_ms(&scheduler_rig_sched), NEVER_MS);
}

static void test_splay_is_added_to_reruns(void **state)
{
    struct work_queue_params p = scheduler_rig_params(0, 0, 1);

    (void)state;
    p.rerun_ms = 5000;
    p.splay_ms = 1000;
    scheduler_rig_init(0, p);
    for (size_t u = 0; u < WORK_ITEMS; u++) {
        scheduler_rest(&work_queues[0], &work_items[0][u], scheduler_rig_now);
        assert_in_range(work_items[0][u].rerun_at_ms, scheduler_rig_now + 5000,
                        scheduler_rig_now + 6000);
    }
    assert_int_not_equal(work_items[0][0].rerun_at_ms, work_items[0][1].rerun_at_ms);
}

static void test_a_parked_item_waits_for_a_change_or_a_person(void **state)
{
    (void)state;
    scheduler_rig_init(0, scheduler_rig_params(0, 0, 1));
    scheduler_rig_touch(0, 0);
    scheduler_rig_assert_starts(0, 0);
    scheduler_rig_done(0, 0, SCHEDULER_PARKED);
    assert_int_equal(work_queues[0].parked, 1);
    scheduler_rig_assert_nothing();
    assert_int_equal(scheduler_wake_ms(&scheduler_rig_sched), NEVER_MS);
    scheduler_now(&work_queues[0], &work_items[0][0]);
    assert_int_equal(work_queues[0].parked, 0);
    scheduler_rig_assert_starts(0, 0);
    assert_int_equal(work_items[0][0].failures, 1); /* the backoff stays */
    scheduler_rig_done(0, 0, SCHEDULER_PARKED);
    scheduler_rig_touch(0, 0);
    scheduler_rig_assert_starts_only_at(0, 0, scheduler_rig_now + INITIAL);
    scheduler_rig_done(0, 0, SCHEDULER_PARKED);
    scheduler_drop(&work_queues[0], &work_items[0][0]);
    assert_int_equal(work_queues[0].parked, 0);
    assert_int_equal(work_items[0][0].failures, 0);
}

static void test_which_try_is_the_last_and_a_change_during_it_gives_one_more(void **state)
{
    struct work_queue_params p = scheduler_rig_params(0, 0, 1);

    (void)state;
    p.attempts = 2;
    scheduler_rig_init(0, p);
    scheduler_rig_touch(0, 0);
    scheduler_rig_assert_starts(0, 0);
    assert_false(scheduler_is_last_try(&work_queues[0], &work_items[0][0]));
    scheduler_rig_done(0, 0, SCHEDULER_FAILED);
    scheduler_rig_assert_starts_only_at(0, 0, scheduler_rig_now + INITIAL);
    assert_true(scheduler_is_last_try(&work_queues[0], &work_items[0][0]));
    scheduler_rig_touch(0, 0); /* the change deserves a try of its own */
    scheduler_rig_done(0, 0, SCHEDULER_PARKED);
    scheduler_rig_assert_starts_only_at(0, 0, scheduler_rig_now + INITIAL);
    assert_true(scheduler_is_last_try(&work_queues[0], &work_items[0][0]));
    scheduler_rig_done(0, 0, SCHEDULER_FAILED); /* the owner decides, not the scheduler */
    assert_int_equal(work_items[0][0].state, WORK_ITEM_BACKOFF);
}

static void test_a_blocked_work_queue_starts_nothing_and_does_not_wake(void **state)
{
    (void)state;
    scheduler_rig_init(0, scheduler_rig_params(200, 2000, 1));
    scheduler_block(&work_queues[0], true);
    scheduler_rig_touch(0, 0);
    scheduler_rig_touch(1, 0);
    scheduler_rig_now += 200;
    scheduler_rig_assert_starts(1, 0); /* the other work queues go on */
    scheduler_rig_assert_nothing();
    assert_int_equal(scheduler_wake_ms(&scheduler_rig_sched), NEVER_MS);
    scheduler_block(&work_queues[0], false);
    assert_true(scheduler_wake_ms(&scheduler_rig_sched) <= scheduler_rig_now);
    scheduler_rig_assert_starts(0, 0);
}

static void test_now_starts_whatever_it_waits_for(void **state)
{
    (void)state;
    scheduler_rig_init(0, scheduler_rig_params(200, 2000, 1));
    scheduler_rig_touch(0, 0);
    scheduler_now(&work_queues[0], &work_items[0][0]); /* settling */
    scheduler_rig_assert_starts(0, 0);
    scheduler_now(&work_queues[0], &work_items[0][0]); /* running: nothing */
    scheduler_rig_done(0, 0, SCHEDULER_FAILED);
    scheduler_now(&work_queues[0], &work_items[0][0]); /* backoff */
    scheduler_now(&work_queues[0], &work_items[0][0]); /* ready: it keeps its place */
    scheduler_rig_assert_starts(0, 0);
    scheduler_rig_done(0, 0, SCHEDULER_DONE);
    scheduler_now(&work_queues[0], &work_items[0][0]); /* idle */
    scheduler_rig_assert_starts(0, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_min_interval_counts_from_the_last_real_start),
        cmocka_unit_test(test_min_interval_counts_from_a_start_that_had_to_wait),
        cmocka_unit_test(test_a_work_queue_that_waits_for_a_slot_does_not_wake_for_min_interval),
        cmocka_unit_test(test_splay_is_added_to_each_burst_and_drawn_once),
        cmocka_unit_test(test_splay_without_settling_waits_too),
        cmocka_unit_test(test_a_work_item_rests_until_its_rerun_unless_something_changes),
        cmocka_unit_test(test_splay_is_added_to_reruns),
        cmocka_unit_test(test_a_parked_item_waits_for_a_change_or_a_person),
        cmocka_unit_test(test_which_try_is_the_last_and_a_change_during_it_gives_one_more),
        cmocka_unit_test(test_a_blocked_work_queue_starts_nothing_and_does_not_wake),
        cmocka_unit_test(test_now_starts_whatever_it_waits_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
