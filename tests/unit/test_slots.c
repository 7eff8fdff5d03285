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
    assert_true(slots_take(&s, 6, ONE, RUN_PROGRAM_FINGERPRINT));
    assert_false(slots_take(&s, 7, ONE, RUN_PROGRAM_FINGERPRINT));
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_hook_has_no_more_than_its_concurrency),
        cmocka_unit_test(test_slots_beyond_the_first_are_shared),
        cmocka_unit_test(test_files_are_of_the_command_and_the_rest_is_one_each),
        cmocka_unit_test(test_only_so_much_is_cleared_at_a_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
