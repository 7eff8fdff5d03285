/* SPDX-License-Identifier: Apache-2.0 */
#include "base/run_end.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void test_a_good_end(void **state)
{
    (void)state;
    assert_true(run_end_is_good(&(struct run_end){0}));
    assert_true(run_end_is_good(&(struct run_end){.killed = true})); /* it ended in time */
    assert_false(run_end_is_good(&(struct run_end){.value = 1}));
    assert_false(run_end_is_good(&(struct run_end){.kind = RUN_END_SIGNALED}));
    assert_false(run_end_is_good(&(struct run_end){.kind = RUN_END_REFUSED}));
    assert_false(run_end_is_good(&(struct run_end){.cut = RUN_CUT_GIVEN_UP}));
}

/* When main or the helper stood still for a while, the program may have ended before the kill. */
static void test_a_timeout_counts_if_the_kill_was_carried_out(void **state)
{
    struct run_end end = {0};

    (void)state;
    run_end_cut(&end, RUN_CUT_TIMEOUT);
    assert_int_equal(end.cut, RUN_CUT_NONE);
    end.killed = true;
    run_end_cut(&end, RUN_CUT_TIMEOUT);
    assert_int_equal(end.cut, RUN_CUT_TIMEOUT);
    end = (struct run_end){0};
    run_end_cut(&end, RUN_CUT_FULL);
    assert_int_equal(end.cut, RUN_CUT_FULL);
}

static void test_a_run_of_two_programs(void **state)
{
    const struct run_end command = {
        .cpu_us = 5, .memory_peak = 9, .cleared = 2, .left = 1, .left_pid = 77, .left_comm = "x"};
    struct run_end file = {.cpu_us = 1, .memory_peak = 3};
    struct run_end apply = {
        .memory_peak = 10, .cleared = 1, .left = 2, .left_pid = 78, .left_comm = "y"};

    (void)state;
    run_end_follow(&file, &command);
    assert_int_equal(file.cpu_us, 6);
    assert_int_equal(file.memory_peak, 9);
    assert_int_equal(file.cleared, 2);
    assert_int_equal(file.left, 1);
    assert_int_equal(file.left_pid, 77);
    assert_string_equal(file.left_comm, "x");
    run_end_follow(&apply, &command);
    assert_int_equal(apply.memory_peak, 10);
    assert_int_equal(apply.cleared, 3);
    assert_int_equal(apply.left, 2);
    assert_int_equal(apply.left_pid, 78);
    assert_string_equal(apply.left_comm, "y");
}

static void test_what_only_a_change_can_help(void **state)
{
    struct run_end end = run_end_refused(RUN_PROGRAM_OUTPUT, RUN_STAGE_TEMPLATE, EINVAL);

    (void)state;
    assert_true(end.program == RUN_PROGRAM_OUTPUT && end.value == EINVAL);
    assert_true(run_end_is_unfit(&end));
    end.stage = RUN_STAGE_FIELDS;
    assert_true(run_end_is_unfit(&end));
    end.stage = RUN_STAGE_WRITE;
    assert_false(run_end_is_unfit(&end));
    assert_false(run_end_is_unfit(&(struct run_end){.value = 1}));
}

static void test_what_became_of_the_file(void **state)
{
    (void)state;
    assert_null(run_end_file(&(struct run_end){0}));
    assert_string_equal(run_end_file(&(struct run_end){.stage = RUN_STAGE_SAME}), "same");
    assert_string_equal(run_end_file(&(struct run_end){.stage = RUN_STAGE_WRITTEN}), "written");
    assert_string_equal(run_end_file(&(struct run_end){.stage = RUN_STAGE_REMOVED}), "removed");
    assert_null(run_end_file(&(struct run_end){.stage = RUN_STAGE_FIELDS}));
}

/* The names go into log lines. */
static void test_each_stage_has_a_name_of_its_own(void **state)
{
    (void)state;
    assert_string_equal(run_stage_name(RUN_STAGE_NONE), "");
    assert_string_equal(run_stage_name(RUN_STAGE_FSYNC_FOLDER), "fsync folder");
    for (enum run_stage i = RUN_STAGE_SAME; i < RUN_STAGES; i++) {
        assert_non_null(run_stage_name(i));
        assert_true(strlen(run_stage_name(i)) > 0);
        for (enum run_stage k = RUN_STAGE_NONE; k < i; k++)
            assert_string_not_equal(run_stage_name(i), run_stage_name(k));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_good_end),
        cmocka_unit_test(test_a_timeout_counts_if_the_kill_was_carried_out),
        cmocka_unit_test(test_a_run_of_two_programs),
        cmocka_unit_test(test_what_only_a_change_can_help),
        cmocka_unit_test(test_what_became_of_the_file),
        cmocka_unit_test(test_each_stage_has_a_name_of_its_own),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
