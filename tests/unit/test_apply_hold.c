/* SPDX-License-Identifier: Apache-2.0 */
#include "applied.h"

#include "hook/why.h"

/* What holds back that written files are applied. */

static void test_a_command_that_hangs_holds_it_back_for_ten_seconds(void **state)
{
    (void)state;
    struct hook *h = applied_add_settled((struct stage_hook){0});
    stage_change(0, DELTA_ADDED, "ns/b", "u2", "\"a\":1");
    struct run *hangs = applied_starts(DELTA_ADDED, "u2");
    stage.now += 100;
    applied_write_first("ns/c", "u3");
    uint64_t wrote = stage.now;
    stage_waits_until(wrote + 200);
    stage_nothing();
    assert_int_equal(why_apply(&stage.hooks, h, stage.now).reason, WHY_HOLDING);
    assert_int_equal(why_apply(&stage.hooks, h, stage.now).until_ms, wrote + APPLY_HOLD_MS);
    stage.now += 5000;
    applied_write_first("ns/d", "u4"); /* does not prolong it */
    stage_waits_until(wrote + APPLY_HOLD_MS);
    applied_apply_passes(RUN_CHANGE);
    stage_end_file(hangs, RUN_FILE_WRITTEN, 9);
    stage_waits_until(stage.now + 200);
    applied_apply_passes(RUN_CHANGE);
    stage_waits_until(NEVER_MS);
}

/* One that the system had no means for has applied nothing: more may still come, and go with it. */
static void test_one_that_was_not_started_is_held_back_like_the_first_time(void **state)
{
    (void)state;
    const struct run_result not_started = {
        .end = RUN_NOT_STARTED, .shortage = SHORTAGE_PROCESSES, .text = "no processes"};
    applied_add_settled((struct stage_hook){0});
    applied_write_first("ns/b", "u2");
    uint64_t wrote = stage.now;
    stage_waits_until(wrote + 200);
    hooks_finish(&stage.hooks, stage_applies(RUN_CHANGE, 1), &not_started, stage.now);
    stage_change(0, DELTA_ADDED, "ns/c", "u3", "\"a\":1");
    struct run *hangs = applied_starts(DELTA_ADDED, "u3");
    stage.now += SCHEDULER_NOT_STARTED_MS;
    stage_nothing();
    stage_waits_until(wrote + APPLY_HOLD_MS);
    applied_apply_passes(RUN_CHANGE);
    stage_end_file(hangs, RUN_FILE_WRITTEN, 9);
}

static void test_work_items_that_wait_for_min_interval_hold_it_back(void **state)
{
    (void)state;
    applied_add_settled((struct stage_hook){.work_queue.min_interval_ms = 3000});
    stage_change(0, DELTA_MODIFIED, "ns/a", "u1", "\"a\":2");
    stage_nothing();
    stage.now += 3000;
    stage_change(0, DELTA_ADDED, "ns/b", "u2", "\"a\":1");
    stage_end_file(applied_starts(DELTA_MODIFIED, "u1"), RUN_FILE_WRITTEN, 2);
    stage_waits_until(stage.now + 200);
    stage_waits_until(stage.now + 2800); /* ns/b is ready: its write comes along */
    stage_end_file(applied_starts(DELTA_ADDED, "u2"), RUN_FILE_WRITTEN, 3);
    applied_apply_passes(RUN_CHANGE);
    stage_waits_until(NEVER_MS);
}

#define STAGE_TEST(name) cmocka_unit_test_setup_teardown(name, stage_set_up, stage_clean_up)

int main(void)
{
    const struct CMUnitTest tests[] = {
        STAGE_TEST(test_a_command_that_hangs_holds_it_back_for_ten_seconds),
        STAGE_TEST(test_one_that_was_not_started_is_held_back_like_the_first_time),
        STAGE_TEST(test_work_items_that_wait_for_min_interval_hold_it_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
