/* SPDX-License-Identifier: Apache-2.0 */
#include "delivery_rig.h"

#include "hook/delivery_log.h"

/* The watch no longer selects the object: LEFT is an end like DELETED. */
static void test_leaving_ends_an_incarnation(void **state)
{
    (void)state;
    delivery_rig_add_handled("u1", "\"a\":1");
    delivery_rig_change(DELTA_LEFT, "u1", "\"a\":1");
    assert_string_equal(delivery_rig_due(), "LEFT u1");
    delivery_rig_run(false);
    assert_string_equal(delivery_rig_due(), "LEFT u1");
    delivery_rig_run(true);
    assert_null(delivery_rig_delivery());
}

static void test_an_object_that_left_and_came_back_is_added(void **state)
{
    (void)state;
    delivery_rig_add_handled("u1", "\"a\":1");
    delivery_rig_change(DELTA_LEFT, "u1", "\"a\":1");
    struct delivery_rig_run b = delivery_rig_start(1);
    delivery_rig_change(DELTA_ADDED, "u1", "\"a\":1");
    delivery_rig_end(b, true);
    assert_string_equal(delivery_rig_due(), "ADDED u1");
    delivery_rig_run(true);
    delivery_rig_change(DELTA_LEFT, "u1", "\"a\":1");
    delivery_rig_run(true);
    assert_null(delivery_rig_delivery());
    delivery_rig_change(DELTA_ADDED, "u1", "\"a\":1");
    assert_string_equal(delivery_rig_due(), "ADDED u1");
}

static void test_an_object_that_left_undelivered_and_came_back_is_the_same(void **state)
{
    (void)state;
    delivery_rig_add_handled("u1", "\"a\":1");
    delivery_rig_change(DELTA_LEFT, "u1", "\"a\":1");
    delivery_rig_change(DELTA_ADDED, "u1", "\"a\":1");
    assert_string_equal(delivery_rig_due(), "");
    delivery_rig_change(DELTA_LEFT, "u1", "\"a\":1");
    delivery_rig_change(DELTA_ADDED, "u1", "\"a\":2");
    assert_string_equal(delivery_rig_due(), "MODIFIED u1");
    delivery_rig_change(DELTA_DELETED, "u1", "\"a\":2");
    assert_string_equal(delivery_rig_due(), "DELETED u1"); /* the end that counts is the last one */
}

static void test_an_object_that_left_before_it_was_delivered_leaves_nothing(void **state)
{
    (void)state;
    delivery_rig_change(DELTA_ADDED, "u1", NULL);
    assert_null(delivery_rig_change(DELTA_LEFT, "u1", NULL));
    delivery_rig_change(DELTA_ADDED, "u1", NULL);
    delivery_rig_change(DELTA_LEFT, "u1", NULL);
    delivery_rig_change(DELTA_ADDED, "u2", NULL);
    assert_string_equal(delivery_rig_due(), "ADDED u2");
}

static void test_an_end_that_the_hook_does_not_take_ends_the_incarnation(void **state)
{
    (void)state;
    delivery_rig_restart(DELIVERY_RIG_ALL & ~(1U << DELTA_LEFT), NULL);
    delivery_rig_add_handled("u1", NULL);
    delivery_rig_change(DELTA_LEFT, "u1", NULL);
    assert_null(delivery_rig_delivery());
    delivery_rig_add_handled("u1", NULL);
    delivery_rig_change(DELTA_DELETED, "u1", NULL);
    assert_string_equal(delivery_rig_due(), "DELETED u1");
}

/* Mode snapshot: one run has the end of the first incarnation, which is back when the second one
 * has left. */
static void test_a_second_end_that_the_hook_does_not_take_is_not_due(void **state)
{
    (void)state;
    delivery_rig_restart(DELIVERY_RIG_ALL & ~(1U << DELTA_LEFT), NULL);
    delivery_rig_replace(DELTA_DELETED);
    struct delivery_rig_run b = delivery_rig_start(2);
    assert_int_equal(b.n, 2);
    delivery_rig_change(DELTA_LEFT, "u2", NULL);
    assert_string_equal(delivery_rig_due(), "DELETED u1");
    delivery_rig_change(DELTA_ADDED, "u1", NULL);
    delivery_rig_end(b, false);
    assert_string_equal(delivery_rig_due(), "ADDED u1");
    delivery_rig_run(true);
    assert_string_equal(delivery_rig_due(), "");
}

/* The incarnation that came back has an end of its own, with tries of its own. */
static void test_a_superseded_end_is_due_again_once_the_incarnation_was_back(void **state)
{
    (void)state;
    delivery_rig_replace(DELTA_LEFT);
    delivery_rig_supersede_end();
    assert_string_equal(delivery_rig_due(), "ADDED u2");
    delivery_rig_change(DELTA_DELETED, "u2", NULL);
    delivery_rig_change(DELTA_ADDED, "u1", NULL);
    delivery_rig_change(DELTA_DELETED, "u1", NULL);
    delivery_rig_change(DELTA_ADDED, "u3", NULL);
    assert_string_equal(delivery_rig_due(), "DELETED u1 ADDED u3");
}

/* ---- An outage of the source is an incarnation of the empty key. */

static void test_stale_and_fresh_are_delivered_in_turn(void **state)
{
    (void)state;
    delivery_rig_stale(true);
    assert_string_equal(delivery_rig_due(), "STALE");
    delivery_rig_run(true);
    delivery_rig_stale(true); /* the source is stale already */
    assert_string_equal(delivery_rig_due(), "");
    delivery_rig_stale(false);
    assert_string_equal(delivery_rig_due(), "FRESH");
    delivery_rig_run(true);
    assert_null(delivery_rig_delivery());
}

static void test_an_outage_that_was_never_delivered_leaves_nothing(void **state)
{
    (void)state;
    delivery_rig_stale(true);
    delivery_rig_stale(false);
    assert_null(delivery_rig_delivery());
    delivery_rig_stale(false);
    assert_null(delivery_rig_delivery());
    assert_int_equal(delivery_rig.queue.pending_count, 0);
}

static void test_an_outage_that_was_delivered_ends_with_fresh(void **state)
{
    (void)state;
    delivery_rig_stale(true);
    delivery_rig_run(false);
    assert_string_equal(delivery_rig_due(), "STALE");
    delivery_rig_stale(false);
    assert_string_equal(delivery_rig_due(), "FRESH");
    delivery_rig_run(false);
    assert_string_equal(delivery_rig_due(), "FRESH");
    delivery_rig_stale(true); /* the failed run may have had its effect */
    assert_string_equal(delivery_rig_due(), "STALE");
    struct delivery_rig_run b = delivery_rig_start(1);
    delivery_rig_stale(false);
    delivery_rig_end(b, true);
    assert_string_equal(delivery_rig_due(), "FRESH");
    delivery_rig_stale(true); /* the hook knows that already */
    assert_string_equal(delivery_rig_due(), "");
}

static void test_a_hook_for_stale_alone_gets_each_outage(void **state)
{
    (void)state;
    delivery_rig_restart(1U << DELTA_STALE, NULL);
    for (int i = 0; i < 3; i++) {
        delivery_rig_stale(true);
        assert_string_equal(delivery_rig_due(), "STALE");
        delivery_rig_run(true);
        delivery_rig_stale(false);
        assert_null(delivery_rig_delivery());
    }
    delivery_rig_stale(true);
    struct delivery_rig_run b = delivery_rig_start(1);
    delivery_rig_stale(false);
    delivery_rig_stale(true);
    delivery_rig_end(b, true);
    assert_string_equal(delivery_rig_due(), "");
}

static void test_a_hook_for_fresh_alone_gets_each_end(void **state)
{
    (void)state;
    delivery_rig_restart(1U << DELTA_FRESH | 1U << DELTA_MODIFIED, NULL);
    for (int i = 0; i < 3; i++) {
        delivery_rig_stale(true);
        assert_string_equal(delivery_rig_due(), "");
        delivery_rig_stale(false);
        assert_string_equal(delivery_rig_due(), "FRESH");
        struct delivery_rig_run b = delivery_rig_start(1);
        delivery_rig_stale(true);
        assert_string_equal(delivery_rig_due(), ""); /* never MODIFIED */
        delivery_rig_stale(false);
        delivery_rig_end(b, i != 1);
        assert_string_equal(delivery_rig_due(), i != 1 ? "" : "FRESH");
        if (i == 1)
            delivery_rig_run(true);
        assert_null(delivery_rig_delivery());
    }
}

static void check_opened(bool skip)
{
    delivery_rig_fini();
    delivery_rig_init(DELIVERY_RIG_ALL, NULL);
    delivery_rig_stale(true);
    delivery_rig_stale(false);
    assert_null(delivery_rig_delivery());
    delivery_rig_stale(true);
    delivery_queue_open(&delivery_rig.queue, 0, skip, delivery_rig.now);
    assert_string_equal(delivery_rig_due(), "STALE");
    assert_int_equal(delivery_rig.queue.existing_left, 1);
    delivery_rig_run(true);
    assert_int_equal(delivery_rig.queue.existing_left, 0);
}

static void test_an_outage_is_due_when_the_queue_opens(void **state)
{
    (void)state;
    check_opened(false);
    check_opened(true);
}

/* The failed run may have undone the effects of the runs before, and such a hook never gets ADDED. */
static void test_an_object_that_returns_after_a_failed_end_is_modified_without_added(void **state)
{
    (void)state;
    static const enum delta_type ends[] = {DELTA_DELETED, DELTA_LEFT};

    for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
        delivery_rig_restart(1U << DELTA_MODIFIED | 1U << ends[i], NULL);
        delivery_rig_change(DELTA_ADDED, "u1", "\"a\":1");
        delivery_rig_change(ends[i], "u1", "\"a\":1");
        delivery_rig_run(false);
        delivery_rig_change(DELTA_ADDED, "u1", "\"a\":1");
        assert_string_equal(delivery_rig_due(), "MODIFIED u1");
        delivery_rig_run(true);
        assert_string_equal(delivery_rig_due(), "");
    }
}

static void test_an_object_that_returns_after_a_good_end_is_accepted_without_added(void **state)
{
    (void)state;
    delivery_rig_restart(1U << DELTA_MODIFIED | 1U << DELTA_LEFT, NULL);
    delivery_rig_change(DELTA_ADDED, "u1", "\"a\":1");
    delivery_rig_change(DELTA_LEFT, "u1", "\"a\":1");
    delivery_rig_run(true);
    delivery_rig_change(DELTA_ADDED, "u1", "\"a\":1");
    assert_string_equal(delivery_rig_due(), "");
}

/* The hook took ADDED before the restart. Now no run for the next incarnation would give the end
 * up. */
static void test_a_superseded_end_gives_way_without_a_run(void **state)
{
    const struct delivery_record m = {.key = str_c("ns/n"),
                                      .uid = str_c("u1"),
                                      .is_delivered = true,
                                      .attempted = true,
                                      .is_ended = true,
                                      .note = DELIVERY_SUPERSEDED | DELIVERY_LAST_WAS_END};

    (void)state;
    delivery_rig_fini();
    delivery_rig_init(DELIVERY_RIG_ALL & ~(1U << DELTA_ADDED), NULL);
    assert_true(delivery_log_restore(&delivery_rig.queue, 0, &m, 1));
    delivery_rig_change(DELTA_ADDED, "u2", NULL);
    delivery_queue_open(&delivery_rig.queue, 0, false, delivery_rig.now);
    assert_string_equal(delivery_rig_due(), "");
    delivery_rig_change(DELTA_DELETED, "u2", NULL);
    delivery_rig_change(DELTA_ADDED, "u3", NULL);
    assert_string_equal(delivery_rig_due(), "DELETED u2");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, delivery_rig_set_up, delivery_rig_clean_up)
    const struct CMUnitTest tests[] = {
        TEST(test_leaving_ends_an_incarnation),
        TEST(test_a_superseded_end_gives_way_without_a_run),
        TEST(test_an_object_that_left_and_came_back_is_added),
        TEST(test_an_object_that_returns_after_a_failed_end_is_modified_without_added),
        TEST(test_an_object_that_returns_after_a_good_end_is_accepted_without_added),
        TEST(test_an_object_that_left_undelivered_and_came_back_is_the_same),
        TEST(test_an_object_that_left_before_it_was_delivered_leaves_nothing),
        TEST(test_an_end_that_the_hook_does_not_take_ends_the_incarnation),
        TEST(test_a_second_end_that_the_hook_does_not_take_is_not_due),
        TEST(test_a_superseded_end_is_due_again_once_the_incarnation_was_back),
        TEST(test_stale_and_fresh_are_delivered_in_turn),
        TEST(test_an_outage_that_was_never_delivered_leaves_nothing),
        TEST(test_an_outage_that_was_delivered_ends_with_fresh),
        TEST(test_a_hook_for_stale_alone_gets_each_outage),
        TEST(test_a_hook_for_fresh_alone_gets_each_end),
        TEST(test_an_outage_is_due_when_the_queue_opens),
    };
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}
