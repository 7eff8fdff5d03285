/* SPDX-License-Identifier: Apache-2.0 */
/* helper/slots: as many runs at a time as the configuration allows, whatever main asks for. */
#include "helper/slots.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { ONE, TWO, FIVE, HOOKS };

static const struct helper_hook hooks[HOOKS] = {
    [ONE] = {.concurrency = 1},
    [TWO] = {.concurrency = 2},
    [FIVE] = {.concurrency = 5},
};

static struct slots with(unsigned shared)
{
    static struct helper_params params;
    struct slots s;

    params = (struct helper_params){.hooks = hooks, .hook_count = HOOKS, .shared_runs = shared};
    slots_init(&s, &params);
    return s;
}

static bool runs(struct slots *s, uint64_t id, uint32_t hook)
{
    return slots_take(s, id, hook, RUN_PROGRAM_COMMAND);
}

static void test_a_hook_has_no_more_than_its_concurrency(void **state)
{
    struct slots s = with(100);

    (void)state;
    assert_true(runs(&s, 1, ONE));
    assert_false(runs(&s, 2, ONE));
    assert_true(runs(&s, 3, TWO));
    assert_true(runs(&s, 4, TWO));
    assert_false(runs(&s, 5, TWO));
    slots_free(&s, 1);
    assert_true(runs(&s, 6, ONE));
    assert_false(runs(&s, 7, ONE));
    slots_free(&s, 3);
    assert_true(runs(&s, 8, TWO));
    assert_false(runs(&s, 9, TWO));
    slots_fini(&s);
}

static void test_slots_beyond_the_first_are_shared(void **state)
{
    struct slots s = with(2);

    (void)state;
    assert_true(runs(&s, 1, FIVE));
    assert_true(runs(&s, 2, FIVE));
    assert_true(runs(&s, 3, FIVE));
    assert_false(runs(&s, 4, FIVE));
    assert_true(runs(&s, 5, TWO)); /* its own slot */
    assert_false(runs(&s, 6, TWO));
    slots_free(&s, 1);
    assert_true(runs(&s, 7, TWO));
    assert_false(runs(&s, 8, FIVE));
    slots_free(&s, 2);
    slots_free(&s, 3);
    assert_true(runs(&s, 9, FIVE)); /* its own slot */
    assert_true(runs(&s, 10, FIVE));
    assert_false(runs(&s, 11, FIVE));
    slots_fini(&s);
}

static void test_files_are_of_the_command_and_the_rest_is_one_each(void **state)
{
    struct slots s = with(100);

    (void)state;
    assert_true(slots_take(&s, 1, ONE, RUN_PROGRAM_OUTPUT));
    assert_false(slots_take(&s, 2, ONE, RUN_PROGRAM_COMMAND));
    assert_false(slots_take(&s, 3, ONE, RUN_PROGRAM_REMOVE));
    assert_true(slots_take(&s, 4, ONE, RUN_PROGRAM_APPLY));
    assert_false(slots_take(&s, 5, ONE, RUN_PROGRAM_APPLY));
    assert_true(slots_take(&s, 6, ONE, RUN_PROGRAM_SWEEP));
    assert_false(slots_take(&s, 7, ONE, RUN_PROGRAM_SWEEP));
    assert_true(slots_take(&s, 8, FIVE, RUN_PROGRAM_APPLY));
    assert_false(slots_take(&s, 9, FIVE, RUN_PROGRAM_APPLY));
    slots_free(&s, 4);
    assert_true(slots_take(&s, 10, ONE, RUN_PROGRAM_APPLY));
    slots_fini(&s);
}

static void test_only_so_much_is_cleared_at_a_time(void **state)
{
    struct slots s = with(2);

    (void)state;
    for (uint64_t id = 0; id < HOOKS + 2; id++)
        assert_true(slots_take_clear(&s, id));
    assert_false(slots_take_clear(&s, 100));
    slots_free(&s, 3);
    assert_true(slots_take_clear(&s, 101));
    assert_true(runs(&s, 102, ONE));
    slots_fini(&s);
}

/* ---- Over a reload */

/* The parameters with these hooks. */
static const struct helper_params *params_of(const struct helper_hook *v, size_t n, unsigned shared)
{
    static struct helper_params params;

    params = (struct helper_params){.hooks = v, .hook_count = n, .shared_runs = shared};
    return &params;
}

static struct helper_hook named(const char *name, unsigned concurrency)
{
    return (struct helper_hook){.name = name, .concurrency = concurrency};
}

static void test_a_hook_keeps_its_runs_by_its_name(void **state)
{
    const struct helper_hook before[] = {named("a", 1), named("b", 2)};
    const struct helper_hook after[] = {named("c", 1), named("b", 3), named("a", 1)};
    struct slots s;

    (void)state;
    slots_init(&s, params_of(before, 2, 10));
    assert_true(runs(&s, 1, 0));
    assert_true(runs(&s, 2, 1));
    assert_true(runs(&s, 3, 1));
    slots_renew(&s, params_of(after, 3, 10));
    assert_true(runs(&s, 4, 0)); /* a had this number */
    assert_false(runs(&s, 5, 2));
    assert_true(runs(&s, 6, 1)); /* by its new concurrency */
    assert_false(runs(&s, 7, 1));
    slots_free(&s, 1);
    assert_true(runs(&s, 8, 2));
    slots_free(&s, 2);
    assert_true(runs(&s, 9, 1));
    slots_fini(&s);
}

/* A main that reloads the same files again and again gets nothing more by that. */
static void test_reloads_make_no_room(void **state)
{
    const struct helper_hook same[] = {named("a", 5)};
    struct slots s;

    (void)state;
    slots_init(&s, params_of(same, 1, 2));
    for (uint64_t id = 0; id < 3; id++)
        assert_true(runs(&s, id, 0));
    for (uint64_t id = 3; id < 10; id++) {
        slots_renew(&s, params_of(same, 1, 2));
        assert_false(runs(&s, id, 0));
    }
    slots_fini(&s);
}

static void test_shared_slots_stay_taken(void **state)
{
    const struct helper_hook before[] = {named("a", 5)};
    const struct helper_hook after[] = {named("b", 5)};
    struct slots s;

    (void)state;
    slots_init(&s, params_of(before, 1, 2));
    for (uint64_t id = 0; id < 3; id++)
        assert_true(runs(&s, id, 0));
    slots_renew(&s, params_of(after, 1, 2));
    assert_true(runs(&s, 10, 0)); /* its own slot */
    assert_false(runs(&s, 11, 0));
    slots_free(&s, 0);
    assert_true(runs(&s, 12, 0));
    assert_false(runs(&s, 13, 0));
    slots_renew(&s, params_of(after, 1, 1)); /* fewer than are taken */
    assert_false(runs(&s, 14, 0));
    slots_free(&s, 1); /* of a hook that is gone: the last run has its own slot */
    assert_false(runs(&s, 15, 0));
    slots_free(&s, 2);
    slots_free(&s, 12);
    assert_true(runs(&s, 16, 0));
    slots_fini(&s);
}

static void test_a_plugin_is_not_the_hook_of_its_name(void **state)
{
    struct helper_hook before[] = {named("prod", 1), named("prod", 1)};
    struct slots s;

    (void)state;
    before[1].kind = HELPER_PLUGIN;
    slots_init(&s, params_of(before, 2, 0));
    assert_true(runs(&s, 1, 0));
    slots_renew(&s, params_of(before + 1, 1, 0)); /* the hook is gone */
    assert_true(runs(&s, 2, 0));
    slots_renew(&s, params_of(before, 2, 0));
    assert_true(runs(&s, 3, 0)); /* a new hook */
    assert_false(runs(&s, 4, 1));
    slots_fini(&s);
}

/* A cluster may have the name of the entry for metrics.textfile. */
static void test_a_plugin_is_not_the_textfile_of_its_name(void **state)
{
    struct helper_hook before[] = {named("metrics.textfile", 1)};
    struct helper_hook after[] = {named("metrics.textfile", 1)};
    struct slots s;

    (void)state;
    before[0].kind = HELPER_TEXTFILE;
    after[0].kind = HELPER_PLUGIN;
    slots_init(&s, params_of(before, 1, 0));
    assert_true(slots_take(&s, 1, 0, RUN_PROGRAM_OUTPUT));
    slots_renew(&s, params_of(after, 1, 0));
    assert_true(runs(&s, 2, 0));
    slots_fini(&s);
}

static void test_a_fingerprint_after_a_killed_one_need_not_wait_for_its_end(void **state)
{
    const struct helper_hook v[] = {named("a", 1)};
    struct slots s;

    (void)state;
    slots_init(&s, params_of(v, 1, 0));
    assert_true(slots_take(&s, 1, 0, RUN_PROGRAM_FINGERPRINT));
    slots_renew(&s, params_of(v, 1, 0));
    assert_true(slots_take(&s, 2, 0, RUN_PROGRAM_FINGERPRINT));
    assert_false(slots_take(&s, 3, 0, RUN_PROGRAM_FINGERPRINT));
    slots_free(&s, 1);
    assert_true(slots_take(&s, 4, 0, RUN_PROGRAM_FINGERPRINT));
    slots_fini(&s);
}

/* Between its command and its file a run has no slot. */
static void test_runs_of_before_a_reload_may_write_their_files(void **state)
{
    const struct helper_hook three[] = {named("a", 3)};
    const struct helper_hook one[] = {named("a", 1)};
    struct slots s;

    (void)state;
    slots_init(&s, params_of(three, 1, 2));
    for (uint64_t id = 0; id < 3; id++)
        assert_true(runs(&s, id, 0));
    slots_free(&s, 2);
    slots_renew(&s, params_of(one, 1, 1));
    assert_false(runs(&s, 3, 0)); /* a new command */
    assert_true(slots_take(&s, 4, 0, RUN_PROGRAM_OUTPUT));
    assert_false(slots_take(&s, 5, 0, RUN_PROGRAM_OUTPUT));
    slots_renew(&s, params_of(one, 1, 0)); /* the runs go on */
    slots_free(&s, 1);
    assert_true(slots_take(&s, 6, 0, RUN_PROGRAM_OUTPUT));
    slots_free(&s, 0);
    slots_free(&s, 4);
    slots_free(&s, 6);
    slots_renew(&s, params_of(one, 1, 0)); /* there may be none any more */
    assert_true(slots_take(&s, 7, 0, RUN_PROGRAM_OUTPUT));
    assert_false(slots_take(&s, 8, 0, RUN_PROGRAM_OUTPUT));
    slots_fini(&s);
}

static void test_an_exec_plugin_takes_no_shared_slot(void **state)
{
    struct helper_hook v[] = {named("a", 3), named("prod", 2)};
    struct slots s;

    (void)state;
    v[1].kind = HELPER_PLUGIN;
    slots_init(&s, params_of(v, 2, 1));
    assert_true(runs(&s, 1, 1));
    assert_true(runs(&s, 2, 1));
    assert_false(runs(&s, 3, 1));
    assert_true(runs(&s, 4, 0));
    assert_true(runs(&s, 5, 0));
    assert_false(runs(&s, 6, 0)); /* the only shared one is taken */
    slots_free(&s, 1);
    assert_false(runs(&s, 7, 0));
    slots_fini(&s);
}

/* Commands of both configurations may end and need one. */
static void test_clears_of_two_configurations(void **state)
{
    const struct helper_hook v[] = {named("a", 1), named("b", 1), named("c", 1)};
    struct slots s;

    (void)state;
    slots_init(&s, params_of(v, 3, 0));
    slots_renew(&s, params_of(v, 1, 0));
    for (uint64_t id = 0; id < 4; id++)
        assert_true(slots_take_clear(&s, id));
    assert_false(slots_take_clear(&s, 4));
    slots_renew(&s, params_of(v, 1, 0));
    assert_false(slots_take_clear(&s, 5));
    for (uint64_t id = 0; id < 3; id++)
        slots_free(&s, id);
    assert_true(slots_take_clear(&s, 6));
    assert_false(slots_take_clear(&s, 7));
    slots_fini(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_hook_has_no_more_than_its_concurrency),
        cmocka_unit_test(test_slots_beyond_the_first_are_shared),
        cmocka_unit_test(test_files_are_of_the_command_and_the_rest_is_one_each),
        cmocka_unit_test(test_only_so_much_is_cleared_at_a_time),
        cmocka_unit_test(test_a_hook_keeps_its_runs_by_its_name),
        cmocka_unit_test(test_reloads_make_no_room),
        cmocka_unit_test(test_shared_slots_stay_taken),
        cmocka_unit_test(test_a_plugin_is_not_the_hook_of_its_name),
        cmocka_unit_test(test_a_plugin_is_not_the_textfile_of_its_name),
        cmocka_unit_test(test_a_fingerprint_after_a_killed_one_need_not_wait_for_its_end),
        cmocka_unit_test(test_runs_of_before_a_reload_may_write_their_files),
        cmocka_unit_test(test_an_exec_plugin_takes_no_shared_slot),
        cmocka_unit_test(test_clears_of_two_configurations),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
