/* SPDX-License-Identifier: Apache-2.0 */
/* hook/apply and hook/hook_record: the files that an earlier process wrote are applied, even if the
 * command fails now. */
#include "restarted_hook.h"

enum { PARK = 75 };

/* A run writes a file, and the process dies before the file is applied. The first run in the next
 * process fails. */
static struct hook *fail_first(enum hook_mode mode, int status)
{
    restarted_hook_add((struct hook_rig_hook){
        .rules = {.mode = mode}, .park_exit = PARK, .output = "/files/all", .applies = true});
    hook_rig_change(0, DELTA_ADDED, "ns/n", "u1", "\"a\":1");
    hook_rig_sync(0);
    struct run *run = hook_rig_next();
    struct err err;
    assert_int_equal(files_claim(run, &err), ERR_OK);
    hooks_finish(&hook_rig.hooks, run,
                 &(struct run_result){.text = "", .end.stage = RUN_STAGE_WRITTEN}, hook_rig.now);
    restarted_hook_keep();
    restarted_hook_restart();
    hook_rig_change(0, DELTA_ADDED, "ns/n", "u1", "\"a\":2");
    hook_rig_sync(0);
    run = hook_rig_next();
    assert_int_equal(run->kind, RUN_COMMAND);
    hook_rig_nothing(); /* half a configuration may be worse than an old one */
    hook_rig_end(run, status);
    hook_rig.now += 10000;
    return restarted_hook.hook;
}

static void applies(enum hook_mode mode, int status)
{
    fail_first(mode, status);
    struct run *run = hook_rig_next();

    while (run->kind != RUN_APPLY) { /* tried again */
        hook_rig_end(run, status);
        run = hook_rig_next();
    }
    hook_rig_end(run, 0);
    assert_false(apply_due(&restarted_hook.hook->apply));
}

static void test_files_are_applied_though_the_first_run_is_parked(void **state)
{
    (void)state;
    applies(HOOK_BATCH, PARK);
}

static void test_files_are_applied_though_the_first_snapshot_is_parked(void **state)
{
    (void)state;
    applies(HOOK_SNAPSHOT, PARK);
}

static void test_files_are_applied_though_the_first_run_fails(void **state)
{
    (void)state;
    applies(HOOK_BATCH, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_files_are_applied_though_the_first_run_is_parked,
                                        hook_rig_set_up, restarted_hook_clean_up),
        cmocka_unit_test_setup_teardown(test_files_are_applied_though_the_first_snapshot_is_parked,
                                        hook_rig_set_up, restarted_hook_clean_up),
        cmocka_unit_test_setup_teardown(test_files_are_applied_though_the_first_run_fails,
                                        hook_rig_set_up, restarted_hook_clean_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
