/* SPDX-License-Identifier: Apache-2.0 */
/* When informerd --once is over, and with which exit code. */
#include "hook_rig.h"

#include "app/once.h"

enum { PARK = 75 };

static int judge(bool synced, bool over)
{
    return once_judge(
        &(struct once_look){.hooks = &hook_rig.hooks, .synced = synced, .over = over});
}

/* A hook that is to run for ns/a. */
static void one_is_due(unsigned attempts)
{
    hook_rig_add(&(struct hook_rig_hook){.park_exit = PARK, .work_queue = {.attempts = attempts}});
    hook_rig_sync(0);
    hook_rig_change(0, DELTA_ADDED, "ns/a", "u1", "\"a\":1");
}

static void test_once_waits_for_all_watches(void **state)
{
    (void)state;
    assert_int_equal(judge(false, false), ONCE_GOES_ON);
    assert_int_equal(judge(false, true), EXIT_CODE_UNAVAILABLE);
    assert_int_equal(judge(true, false), EXIT_CODE_OK); /* there is no hook to wait for */
}

static void test_once_waits_for_due_runs(void **state)
{
    (void)state;
    one_is_due(0);
    assert_int_equal(judge(true, false), ONCE_GOES_ON);
    struct run *run = hook_rig_starts(DELTA_ADDED, "u1");
    assert_int_equal(judge(true, false), ONCE_GOES_ON);
    assert_int_equal(judge(true, true), EXIT_CODE_FAILED);
    hook_rig_end(run, 0);
    assert_int_equal(judge(true, false), EXIT_CODE_OK);
    assert_int_equal(judge(false, false), ONCE_GOES_ON);
}

static void test_retries_go_on_until_the_time_is_over(void **state)
{
    (void)state;
    one_is_due(0);
    hook_rig_fail(DELTA_ADDED, "u1", RUN_EXISTING, 1);
    assert_int_equal(judge(true, false), ONCE_GOES_ON);
    assert_int_equal(judge(true, true), EXIT_CODE_FAILED);
}

static void test_a_run_parked_by_park_exit_is_no_failure(void **state)
{
    (void)state;
    one_is_due(0);
    hook_rig_end(hook_rig_starts(DELTA_ADDED, "u1"), PARK);
    assert_int_equal(judge(true, false), EXIT_CODE_OK);
}

static void test_used_up_attempts_are_a_failure(void **state)
{
    (void)state;
    one_is_due(1);
    hook_rig_end(hook_rig_starts(DELTA_ADDED, "u1"), 1);
    assert_int_equal(judge(true, false), EXIT_CODE_FAILED);
    hook_rig.now += HOOK_RIG_INITIAL_MS;
    hook_rig_change(0, DELTA_MODIFIED, "ns/a", "u1", "\"a\":2");
    hook_rig_end(hook_rig_next(), 0);
    assert_int_equal(judge(true, false), EXIT_CODE_OK);
}

static void test_a_run_whose_input_cannot_be_made_is_a_failure(void **state)
{
    (void)state;
    one_is_due(0);
    hooks_finish(&hook_rig.hooks, hook_rig_next(),
                 &(struct run_result){
                     .end = {.kind = RUN_END_REFUSED, .stage = RUN_STAGE_FIELDS},
                       .text = "fields"
    },
                 hook_rig.now);
    assert_int_equal(judge(true, false), EXIT_CODE_FAILED);
}

static void test_a_stale_source_is_waited_for(void **state)
{
    struct once_look look = {.hooks = &hook_rig.hooks, .synced = true};

    (void)state;
    one_is_due(0);
    assert_true(once_has_all(&look));
    hook_rig_stale(0, true);
    assert_false(once_has_all(&look));
    hook_rig_stale(0, false);
    assert_true(once_has_all(&look));
    look.synced = false;
    assert_false(once_has_all(&look));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, hook_rig_set_up, hook_rig_clean_up)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_once_waits_for_all_watches),
        TEST(test_once_waits_for_due_runs),
        TEST(test_retries_go_on_until_the_time_is_over),
        TEST(test_a_run_parked_by_park_exit_is_no_failure),
        TEST(test_used_up_attempts_are_a_failure),
        TEST(test_a_run_whose_input_cannot_be_made_is_a_failure),
        TEST(test_a_stale_source_is_waited_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
