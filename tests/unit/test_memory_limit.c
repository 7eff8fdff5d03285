/* SPDX-License-Identifier: Apache-2.0 */
/* cache/memory_limit: who may grow, and who begins again (docs/design.md "Memory"). */
#include "cache/memory_limit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* 8 watches: each has 10 of the eighth that is kept for small ones. */
static const struct memory_limit limit = {.bytes = 640, .watches = 8};

static void test_without_a_limit_everything_grows(void **state)
{
    const struct memory_limit none = {.watches = 3};

    (void)state;
    assert_true(memory_may_grow(NULL, UINT64_MAX, UINT64_MAX, MEMORY_EVENT));
    assert_true(memory_may_grow(&none, UINT64_MAX, UINT64_MAX, MEMORY_LIST));
    assert_true(memory_has_room(NULL, UINT64_MAX, UINT64_MAX, UINT64_MAX));
    assert_true(memory_has_room(&none, UINT64_MAX, UINT64_MAX, UINT64_MAX));
}

static void test_events_stop_at_six_eighths_and_lists_at_seven(void **state)
{
    (void)state;
    assert_true(memory_may_grow(&limit, 479, 400, MEMORY_EVENT));
    assert_false(memory_may_grow(&limit, 480, 400, MEMORY_EVENT));
    assert_true(memory_may_grow(&limit, 559, 400, MEMORY_LIST));
    assert_false(memory_may_grow(&limit, 560, 400, MEMORY_LIST));
}

static void test_a_small_watch_grows_to_its_share_whatever_the_others_hold(void **state)
{
    (void)state;
    assert_true(memory_may_grow(&limit, 639, 9, MEMORY_EVENT));
    assert_false(memory_may_grow(&limit, 639, 10, MEMORY_EVENT));
    /* The limit is one for all: hooks may hold what no watch does any more. */
    assert_false(memory_may_grow(&limit, 640, 0, MEMORY_LIST));
    assert_false(memory_may_grow(&limit, 640, 0, MEMORY_EVENT));
}

static void test_a_stopped_watch_begins_when_there_is_room_for_what_it_had(void **state)
{
    (void)state;
    assert_int_equal(memory_wanted(&limit, 300), 300);
    assert_int_equal(memory_wanted(&limit, 5), 40);
    assert_true(memory_has_room(&limit, 180, 0, 300));
    assert_false(memory_has_room(&limit, 181, 0, 300));
    assert_true(memory_has_room(&limit, 440, 400, 40));
    assert_false(memory_has_room(&limit, 441, 400, 40));
}

/* A watch that may begin is not stopped at once by an event: the bound for that is as low. */
static void test_a_watch_that_begins_again_may_grow(void **state)
{
    (void)state;
    for (uint64_t used = 0; used <= limit.bytes; used++)
        for (uint64_t own = 0; own <= 20; own++)
            if (memory_has_room(&limit, used, own, memory_wanted(&limit, 0)))
                assert_true(memory_may_grow(&limit, used, own, MEMORY_EVENT));
}

static void test_no_watch_and_a_tiny_limit_are_no_special_cases(void **state)
{
    const struct memory_limit tiny = {.bytes = 7};

    (void)state;
    assert_false(memory_may_grow(&tiny, 0, 0, MEMORY_EVENT));
    assert_true(memory_has_room(&tiny, 0, 0, memory_wanted(&tiny, 0)));
    assert_false(memory_has_room(&tiny, 1, 0, memory_wanted(&tiny, 1)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_without_a_limit_everything_grows),
        cmocka_unit_test(test_events_stop_at_six_eighths_and_lists_at_seven),
        cmocka_unit_test(test_a_small_watch_grows_to_its_share_whatever_the_others_hold),
        cmocka_unit_test(test_a_stopped_watch_begins_when_there_is_room_for_what_it_had),
        cmocka_unit_test(test_a_watch_that_begins_again_may_grow),
        cmocka_unit_test(test_no_watch_and_a_tiny_limit_are_no_special_cases),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
