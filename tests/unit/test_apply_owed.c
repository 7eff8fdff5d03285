/* SPDX-License-Identifier: Apache-2.0 */
/* hook/apply and hook/hook_record: what an earlier process wrote is applied, though the command fails now. */
#include "reborn.h"

enum { PARK = 75 };

/* A file is written, and the process dies before it is applied. The next one's first run fails. */
static struct hook *fail_first(enum hook_mode mode, int status)
{
    reborn_add((struct stage_hook){
        .rules = {.mode = mode}, .park_exit = PARK, .output = "/files/all", .applies = true});
    stage_change(0, DELTA_ADDED, "ns/n", "u1", "\"a\":1");
    stage_sync(0);
    struct run *run = stage_next();
    struct err err;
    assert_int_equal(files_claim(run, &err), ERR_OK);
    hooks_finish(&stage.hooks, run,
                 &(struct run_result){.end = RUN_EXITED, .text = "", .file = RUN_FILE_WRITTEN},
                 stage.now);
    reborn_keep();
    reborn_restart();
    stage_change(0, DELTA_ADDED, "ns/n", "u1", "\"a\":2");
    stage_sync(0);
    run = stage_next();
    assert_int_equal(run->kind, RUN_COMMAND);
    stage_nothing(); /* half a configuration may be worse than an old one */
    stage_end(run, status);
    stage.now += 10000;
    return reborn.hook;
}

static void applies(enum hook_mode mode, int status)
{
    fail_first(mode, status);
    struct run *run = stage_next();

    while (run->kind != RUN_APPLY) { /* tried again */
        stage_end(run, status);
        run = stage_next();
    }
    stage_end(run, 0);
    assert_false(apply_due(&reborn.hook->apply));
}

static void test_it_is_applied_though_the_first_run_is_parked(void **state)
{
    (void)state;
    applies(HOOK_BATCH, PARK);
}

static void test_so_it_is_for_a_snapshot(void **state)
{
    (void)state;
    applies(HOOK_SNAPSHOT, PARK);
}

static void test_it_is_applied_though_the_first_run_fails(void **state)
{
    (void)state;
    applies(HOOK_BATCH, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_it_is_applied_though_the_first_run_is_parked,
                                        stage_set_up, reborn_clean_up),
        cmocka_unit_test_setup_teardown(test_so_it_is_for_a_snapshot, stage_set_up,
                                        reborn_clean_up),
        cmocka_unit_test_setup_teardown(test_it_is_applied_though_the_first_run_fails, stage_set_up,
                                        reborn_clean_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
