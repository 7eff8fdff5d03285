/* SPDX-License-Identifier: Apache-2.0 */
/* cache/liveness: when a response has been silent for too long, and when the cache last was equal to the
 * server's objects. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cache/liveness.h"

enum { BOOKMARK_TIMEOUT = 150000, LIST_IDLE = 60000, START = 1000000 };

static struct liveness p;

static int set_up(void **state)
{
    (void)state;
    p = (struct liveness){.bookmark_timeout_ms = BOOKMARK_TIMEOUT,
                          .list_idle_timeout_ms = LIST_IDLE};
    return 0;
}

static void test_nothing_under_way_is_never_due(void **state)
{
    (void)state;
    assert_int_equal(liveness_due_ms(&p, true), UINT64_MAX);
    liveness_begin(&p, false, START);
    assert_int_equal(liveness_due_ms(&p, true), UINT64_MAX);
    assert_int_equal(liveness_look(&p, true, UINT64_MAX - 1), LIVENESS_WELL);
}

static void test_a_watch_is_due_only_once_it_had_a_bookmark(void **state)
{
    (void)state;
    liveness_begin(&p, false, START);
    liveness_follow(&p, START);
    assert_int_equal(liveness_due_ms(&p, false), UINT64_MAX);
    assert_int_equal(liveness_look(&p, false, START + 10 * BOOKMARK_TIMEOUT), LIVENESS_WELL);
    assert_int_equal(liveness_due_ms(&p, true), START + BOOKMARK_TIMEOUT);
    assert_int_equal(liveness_look(&p, true, START + BOOKMARK_TIMEOUT - 1), LIVENESS_WELL);
    assert_int_equal(liveness_look(&p, true, START + BOOKMARK_TIMEOUT), LIVENESS_OVERDUE);
}

static void test_any_byte_counts_as_contact(void **state)
{
    (void)state;
    liveness_begin(&p, false, START);
    liveness_follow(&p, START);
    liveness_heard(&p, START + 100000);
    assert_int_equal(liveness_silent_ms(&p, START + 100007), 7);
    assert_int_equal(liveness_due_ms(&p, true), START + 100000 + BOOKMARK_TIMEOUT);
}

static void test_s64_initial_events_are_warned_of_each_ten_seconds_of_silence(void **state)
{
    (void)state;
    liveness_begin(&p, true, START);
    assert_int_equal(liveness_due_ms(&p, false), START + 10000);
    assert_int_equal(liveness_look(&p, false, START + 9999), LIVENESS_WELL);
    assert_int_equal(liveness_look(&p, false, START + 10000), LIVENESS_PAUSED);
    assert_int_equal(liveness_look(&p, false, START + 10001), LIVENESS_WELL);
    assert_int_equal(liveness_due_ms(&p, false), START + 20000);
    liveness_heard(&p, START + 15000);
    assert_int_equal(liveness_due_ms(&p, false), START + 25000);
}

static void test_initial_events_are_stuck_after_list_idle_timeout(void **state)
{
    (void)state;
    liveness_begin(&p, true, START);
    for (uint64_t s = 10; s < 60; s += 10)
        assert_int_equal(liveness_look(&p, false, START + s * 1000), LIVENESS_PAUSED);
    assert_int_equal(liveness_due_ms(&p, false), START + LIST_IDLE);
    assert_int_equal(liveness_look(&p, false, START + LIST_IDLE), LIVENESS_STUCK);
}

static void test_a_short_list_idle_timeout_comes_before_the_warning(void **state)
{
    (void)state;
    p.list_idle_timeout_ms = 2000;
    liveness_begin(&p, true, START);
    assert_int_equal(liveness_due_ms(&p, false), START + 2000);
    assert_int_equal(liveness_look(&p, false, START + 2000), LIVENESS_STUCK);
}

static void test_a_watch_was_current_till_its_end(void **state)
{
    (void)state;
    liveness_begin(&p, false, START);
    liveness_follow(&p, START);
    assert_int_equal(p.follow_ms, 0);
    liveness_end(&p, true, START + 5);
    assert_int_equal(p.follow_ms, START + 5);
    assert_int_equal(p.state, LIVENESS_NONE);
}

static void test_a_watch_that_fails_at_once_was_never_current(void **state)
{
    (void)state;
    liveness_follow(&p, START);
    liveness_end(&p, false, START + 999);
    assert_int_equal(p.follow_ms, 0);
    liveness_follow(&p, START);
    liveness_end(&p, false, START + 1000);
    assert_int_equal(p.follow_ms, START + 1000);
}

static void test_a_request_that_never_became_a_watch_does_not_count_at_its_end(void **state)
{
    (void)state;
    liveness_begin(&p, true, START);
    liveness_end(&p, true, START + 5000);
    liveness_begin(&p, false, START);
    liveness_end(&p, true, START + 5000);
    assert_int_equal(p.follow_ms, 0);
    liveness_current(&p, START + 6000);
    assert_int_equal(p.follow_ms, START + 6000);
}

static void test_a_watch_that_was_resumed_follows_after_half_a_second_of_silence(void **state)
{
    (void)state;
    liveness_begin(&p, false, START);
    liveness_resume(&p, START);
    assert_true(liveness_watches(&p));
    liveness_heard(&p, START + 400);
    assert_int_equal(liveness_look(&p, false, START + 899), LIVENESS_WELL);
    assert_int_equal(liveness_look(&p, false, START + 900), LIVENESS_SETTLED);
    assert_int_equal(p.state, LIVENESS_FOLLOWS);
    assert_int_equal(p.follow_ms, START + 900);
    assert_int_equal(liveness_look(&p, false, START + 900), LIVENESS_WELL);
}

static void test_a_watch_that_was_resumed_and_is_busy_follows_after_five_seconds(void **state)
{
    (void)state;
    liveness_resume(&p, START);
    for (uint64_t ms = 0; ms < 5000; ms += 100) {
        liveness_heard(&p, START + ms);
        assert_int_equal(liveness_look(&p, false, START + ms), LIVENESS_WELL);
    }
    assert_int_equal(liveness_due_ms(&p, false), START + 5000);
    assert_int_equal(liveness_look(&p, false, START + 5000), LIVENESS_SETTLED);
}

static void test_a_watch_that_was_resumed_is_not_current_before_it_follows(void **state)
{
    (void)state;
    liveness_begin(&p, false, START);
    liveness_resume(&p, START);
    liveness_end(&p, true, START + 5000);
    assert_int_equal(p.follow_ms, 0);
    liveness_settle(&p, START + 6000); /* the watch request has ended */
    assert_int_equal(p.follow_ms, 0);
    assert_false(liveness_watches(&p));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_nothing_under_way_is_never_due, set_up),
        cmocka_unit_test_setup(test_a_watch_is_due_only_once_it_had_a_bookmark, set_up),
        cmocka_unit_test_setup(test_any_byte_counts_as_contact, set_up),
        cmocka_unit_test_setup(test_s64_initial_events_are_warned_of_each_ten_seconds_of_silence,
                               set_up),
        cmocka_unit_test_setup(test_initial_events_are_stuck_after_list_idle_timeout, set_up),
        cmocka_unit_test_setup(test_a_short_list_idle_timeout_comes_before_the_warning, set_up),
        cmocka_unit_test_setup(test_a_watch_was_current_till_its_end, set_up),
        cmocka_unit_test_setup(test_a_watch_that_fails_at_once_was_never_current, set_up),
        cmocka_unit_test_setup(test_a_request_that_never_became_a_watch_does_not_count_at_its_end,
                               set_up),
        cmocka_unit_test_setup(test_a_watch_that_was_resumed_follows_after_half_a_second_of_silence,
                               set_up),
        cmocka_unit_test_setup(test_a_watch_that_was_resumed_and_is_busy_follows_after_five_seconds,
                               set_up),
        cmocka_unit_test_setup(test_a_watch_that_was_resumed_is_not_current_before_it_follows,
                               set_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
