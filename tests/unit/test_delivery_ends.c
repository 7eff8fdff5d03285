/* SPDX-License-Identifier: Apache-2.0 */
#include "told.h"

/* An object that the watch no longer selects: LEFT is an end like DELETED. */
static void test_a_life_may_end_by_leaving(void **state)
{
    (void)state;
    told_change(DELTA_ADDED, "u1", "\"a\":1");
    told_run(true);
    told_change(DELTA_LEFT, "u1", "\"a\":1");
    assert_string_equal(told_due(), "LEFT u1");
    told_run(false);
    assert_string_equal(told_due(), "LEFT u1");
    told_run(true);
    assert_null(told_entry());
}

static void test_an_object_that_left_and_came_back_is_added(void **state)
{
    (void)state;
    told_change(DELTA_ADDED, "u1", "\"a\":1");
    told_run(true);
    told_change(DELTA_LEFT, "u1", "\"a\":1");
    struct told_run b = told_start(1);
    told_change(DELTA_ADDED, "u1", "\"a\":1");
    told_end(b, true);
    assert_string_equal(told_due(), "ADDED u1");
    told_run(true);
    told_change(DELTA_LEFT, "u1", "\"a\":1");
    told_run(true);
    assert_null(told_entry());
    told_change(DELTA_ADDED, "u1", "\"a\":1");
    assert_string_equal(told_due(), "ADDED u1");
}

static void test_an_object_that_left_unheard_of_and_came_back_is_the_same(void **state)
{
    (void)state;
    told_change(DELTA_ADDED, "u1", "\"a\":1");
    told_run(true);
    told_change(DELTA_LEFT, "u1", "\"a\":1");
    told_change(DELTA_ADDED, "u1", "\"a\":1");
    assert_string_equal(told_due(), "");
    told_change(DELTA_LEFT, "u1", "\"a\":1");
    told_change(DELTA_ADDED, "u1", "\"a\":2");
    assert_string_equal(told_due(), "MODIFIED u1");
    told_change(DELTA_DELETED, "u1", "\"a\":2");
    assert_string_equal(told_due(), "DELETED u1"); /* the end that counts is the last one */
}

static void test_what_left_before_it_was_told_leaves_nothing(void **state)
{
    (void)state;
    told_change(DELTA_ADDED, "u1", NULL);
    assert_null(told_change(DELTA_LEFT, "u1", NULL));
    told_change(DELTA_ADDED, "u1", NULL);
    told_change(DELTA_LEFT, "u1", NULL);
    told_change(DELTA_ADDED, "u2", NULL);
    assert_string_equal(told_due(), "ADDED u2");
}

static void test_an_end_that_is_not_taken_ends_the_life_all_the_same(void **state)
{
    (void)state;
    told_restart(TOLD_ALL & ~(1U << DELTA_LEFT), NULL);
    told_change(DELTA_ADDED, "u1", NULL);
    told_run(true);
    told_change(DELTA_LEFT, "u1", NULL);
    assert_null(told_entry());
    told_change(DELTA_ADDED, "u1", NULL);
    told_run(true);
    told_change(DELTA_DELETED, "u1", NULL);
    assert_string_equal(told_due(), "DELETED u1");
}

/* Mode snapshot: one run tells the end of the first life, which is back when the second has left. */
static void test_the_end_of_a_second_life_that_is_not_taken_is_not_due(void **state)
{
    (void)state;
    told_restart(TOLD_ALL & ~(1U << DELTA_LEFT), NULL);
    told_change(DELTA_ADDED, "u1", NULL);
    told_run(true);
    told_change(DELTA_DELETED, "u1", NULL);
    told_change(DELTA_ADDED, "u2", NULL);
    struct told_run b = told_start(2);
    assert_int_equal(b.n, 2);
    told_change(DELTA_LEFT, "u2", NULL);
    assert_string_equal(told_due(), "DELETED u1");
    told_change(DELTA_ADDED, "u1", NULL);
    told_end(b, false);
    assert_string_equal(told_due(), "ADDED u1");
    told_run(true);
    assert_string_equal(told_due(), "");
}

/* What came back has an end of its own, with tries of its own. */
static void test_an_end_that_gave_way_does_so_no_more_once_the_life_was_back(void **state)
{
    (void)state;
    told_change(DELTA_ADDED, "u1", NULL);
    told_run(true);
    told_change(DELTA_LEFT, "u1", NULL);
    told_change(DELTA_ADDED, "u2", NULL);
    told_end(told_start(1), false);
    delivery_supersede(&told.queue, told_entry(), told.now);
    assert_string_equal(told_due(), "ADDED u2");
    told_change(DELTA_DELETED, "u2", NULL);
    told_change(DELTA_ADDED, "u1", NULL);
    told_change(DELTA_DELETED, "u1", NULL);
    told_change(DELTA_ADDED, "u3", NULL);
    assert_string_equal(told_due(), "DELETED u1 ADDED u3");
}

/* ---- That the source is stale is a life under the empty key. */

static void test_an_outage_is_told_from_begin_to_end(void **state)
{
    (void)state;
    told_stale(true);
    assert_string_equal(told_due(), "STALE");
    told_run(true);
    told_stale(true); /* nothing new */
    assert_string_equal(told_due(), "");
    told_stale(false);
    assert_string_equal(told_due(), "FRESH");
    told_run(true);
    assert_null(told_entry());
}

static void test_an_outage_that_nobody_heard_of_leaves_nothing(void **state)
{
    (void)state;
    told_stale(true);
    told_stale(false);
    assert_null(told_entry());
    told_stale(false);
    assert_null(told_entry());
    assert_int_equal(told.queue.pending_count, 0);
}

static void test_an_outage_that_was_announced_ends_with_fresh(void **state)
{
    (void)state;
    told_stale(true);
    told_run(false);
    assert_string_equal(told_due(), "STALE");
    told_stale(false);
    assert_string_equal(told_due(), "FRESH");
    told_run(false);
    assert_string_equal(told_due(), "FRESH");
    told_stale(true); /* the failed run may have had its effect */
    assert_string_equal(told_due(), "STALE");
    struct told_run b = told_start(1);
    told_stale(false);
    told_end(b, true);
    assert_string_equal(told_due(), "FRESH");
    told_stale(true); /* that is what the hook knows */
    assert_string_equal(told_due(), "");
}

static void test_a_hook_for_stale_alone_hears_of_each_outage(void **state)
{
    (void)state;
    told_restart(1U << DELTA_STALE, NULL);
    for (int i = 0; i < 3; i++) {
        told_stale(true);
        assert_string_equal(told_due(), "STALE");
        told_run(true);
        told_stale(false);
        assert_null(told_entry());
    }
    told_stale(true);
    struct told_run b = told_start(1);
    told_stale(false);
    told_stale(true);
    told_end(b, true);
    assert_string_equal(told_due(), "");
}

static void test_a_hook_for_fresh_alone_hears_of_each_end(void **state)
{
    (void)state;
    told_restart(1U << DELTA_FRESH | 1U << DELTA_MODIFIED, NULL);
    for (int i = 0; i < 3; i++) {
        told_stale(true);
        assert_string_equal(told_due(), "");
        told_stale(false);
        assert_string_equal(told_due(), "FRESH");
        struct told_run b = told_start(1);
        told_stale(true);
        assert_string_equal(told_due(), ""); /* never MODIFIED */
        told_stale(false);
        told_end(b, i != 1);
        assert_string_equal(told_due(), i != 1 ? "" : "FRESH");
        if (i == 1)
            told_run(true);
        assert_null(told_entry());
    }
}

static void check_opened(bool skip)
{
    told_fini();
    told_init(TOLD_ALL, NULL);
    told_stale(true);
    told_stale(false);
    assert_null(told_entry());
    told_stale(true);
    delivery_queue_open(&told.queue, 0, skip, told.now);
    assert_string_equal(told_due(), "STALE");
    assert_int_equal(told.queue.existing_left, 1);
    told_run(true);
    assert_int_equal(told.queue.existing_left, 0);
}

static void test_an_outage_is_told_when_the_queue_opens(void **state)
{
    (void)state;
    check_opened(false);
    check_opened(true);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, told_set_up, told_clean_up)
    const struct CMUnitTest tests[] = {
        TEST(test_a_life_may_end_by_leaving),
        TEST(test_an_object_that_left_and_came_back_is_added),
        TEST(test_an_object_that_left_unheard_of_and_came_back_is_the_same),
        TEST(test_what_left_before_it_was_told_leaves_nothing),
        TEST(test_an_end_that_is_not_taken_ends_the_life_all_the_same),
        TEST(test_the_end_of_a_second_life_that_is_not_taken_is_not_due),
        TEST(test_an_end_that_gave_way_does_so_no_more_once_the_life_was_back),
        TEST(test_an_outage_is_told_from_begin_to_end),
        TEST(test_an_outage_that_nobody_heard_of_leaves_nothing),
        TEST(test_an_outage_that_was_announced_ends_with_fresh),
        TEST(test_a_hook_for_stale_alone_hears_of_each_outage),
        TEST(test_a_hook_for_fresh_alone_hears_of_each_end),
        TEST(test_an_outage_is_told_when_the_queue_opens),
    };
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}
