/* SPDX-License-Identifier: Apache-2.0 */
#include "apply_rig.h"

#include <errno.h>

#include "hook/why.h"

/* Reasons for which written files are not applied yet. */

static void test_a_command_that_hangs_holds_apply_back_for_ten_seconds(void **state)
{
    (void)state;
    struct hook *h = apply_rig_add_settled((struct hook_rig_hook){0});
    hook_rig_change(0, DELTA_ADDED, "ns/b", "u2", "\"a\":1");
    struct run *hangs = apply_rig_starts(DELTA_ADDED, "u2");
    hook_rig.now += 100;
    apply_rig_write_first("ns/c", "u3");
    uint64_t wrote = hook_rig.now;
    hook_rig_waits_until(wrote + 200);
    hook_rig_nothing();
    assert_int_equal(why_apply(&hook_rig.hooks, h, hook_rig.now).reason, WHY_HOLDING);
    assert_int_equal(why_apply(&hook_rig.hooks, h, hook_rig.now).until_ms, wrote + APPLY_HOLD_MS);
    hook_rig.now += 5000;
    apply_rig_write_first("ns/d", "u4"); /* the second write does not prolong the wait */
    hook_rig_waits_until(wrote + APPLY_HOLD_MS);
    apply_rig_apply_passes(RUN_CHANGE);
    hook_rig_end_file(hangs, RUN_STAGE_WRITTEN, 9);
    hook_rig_waits_until(hook_rig.now + 200);
    apply_rig_apply_passes(RUN_CHANGE);
    hook_rig_waits_until(NEVER_MS);
}

/* A run that could not start for a shortage has applied nothing: more writes may still come, and go
 * with it. */
static void test_an_apply_that_was_not_started_is_held_back_like_the_first_time(void **state)
{
    (void)state;
    const struct run_result not_started = {
        .end = {.kind = RUN_END_REFUSED, .stage = RUN_STAGE_FORK, .value = EAGAIN},
        .text = "no processes"
    };
    apply_rig_add_settled((struct hook_rig_hook){0});
    apply_rig_write_first("ns/b", "u2");
    uint64_t wrote = hook_rig.now;
    hook_rig_waits_until(wrote + 200);
    hooks_finish(&hook_rig.hooks, hook_rig_applies(RUN_CHANGE, 1), &not_started, hook_rig.now);
    hook_rig_change(0, DELTA_ADDED, "ns/c", "u3", "\"a\":1");
    struct run *hangs = apply_rig_starts(DELTA_ADDED, "u3");
    hook_rig.now += SCHEDULER_NOT_STARTED_MS;
    hook_rig_nothing();
    hook_rig_waits_until(wrote + APPLY_HOLD_MS);
    apply_rig_apply_passes(RUN_CHANGE);
    hook_rig_end_file(hangs, RUN_STAGE_WRITTEN, 9);
}

static void test_work_items_that_wait_for_min_interval_hold_apply_back(void **state)
{
    (void)state;
    apply_rig_add_settled((struct hook_rig_hook){.work_queue.min_interval_ms = 3000});
    hook_rig_change(0, DELTA_MODIFIED, "ns/a", "u1", "\"a\":2");
    hook_rig_nothing();
    hook_rig.now += 3000;
    hook_rig_change(0, DELTA_ADDED, "ns/b", "u2", "\"a\":1");
    hook_rig_end_file(apply_rig_starts(DELTA_MODIFIED, "u1"), RUN_STAGE_WRITTEN, 2);
    hook_rig_waits_until(hook_rig.now + 200);
    hook_rig_waits_until(hook_rig.now + 2800); /* ns/b is ready: its write comes along */
    hook_rig_end_file(apply_rig_starts(DELTA_ADDED, "u2"), RUN_STAGE_WRITTEN, 3);
    apply_rig_apply_passes(RUN_CHANGE);
    hook_rig_waits_until(NEVER_MS);
}

#define HOOK_RIG_TEST(name) \
    cmocka_unit_test_setup_teardown(name, hook_rig_set_up, hook_rig_clean_up)

int main(void)
{
    const struct CMUnitTest tests[] = {
        HOOK_RIG_TEST(test_a_command_that_hangs_holds_apply_back_for_ten_seconds),
        HOOK_RIG_TEST(test_an_apply_that_was_not_started_is_held_back_like_the_first_time),
        HOOK_RIG_TEST(test_work_items_that_wait_for_min_interval_hold_apply_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
