/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "delivery_rig.h"

static void test_added_modified_and_deleted_are_delivered_in_turn(void **state)
{
    (void)state;
    delivery_rig_change(DELTA_ADDED, "u1", "\"a\":1");
    assert_string_equal(delivery_rig_due(), "ADDED u1");
    delivery_rig_run(true);
    assert_string_equal(delivery_rig_due(), "");
    delivery_rig_change(DELTA_MODIFIED, "u1", "\"a\":2");
    assert_string_equal(delivery_rig_due(), "MODIFIED u1");
    delivery_rig_run(true);
    delivery_rig_change(DELTA_DELETED, "u1", "\"a\":2");
    assert_string_equal(delivery_rig_due(), "DELETED u1");
    delivery_rig_run(true);
    assert_null(delivery_rig_delivery());
}

/* A hook that takes these events, over two incarnations of a key. */
static void check_subset(unsigned events)
{
    static const struct {
        enum delta_type type;
        const char *uid;
        const char *data;
    } story[] = {
        {DELTA_ADDED,    "u1", "\"a\":1"},
        {DELTA_MODIFIED, "u1", "\"a\":2"},
        {DELTA_DELETED,  "u1", "\"a\":2"},
        {DELTA_ADDED,    "u2", "\"a\":1"},
        {DELTA_LEFT,     "u2", "\"a\":1"},
    };

    delivery_rig_restart(events, NULL);
    for (size_t i = 0; i < ARRAY_LEN(story); i++) {
        char want[32] = "";

        delivery_rig_change(story[i].type, story[i].uid, story[i].data);
        if ((events >> story[i].type & 1) != 0)
            snprintf(want, sizeof(want), "%s %s", delta_type_name(story[i].type), story[i].uid);
        assert_string_equal(delivery_rig_due(), want);
        if (want[0] != '\0')
            delivery_rig_run(true);
        assert_string_equal(delivery_rig_due(), "");
    }
    assert_null(delivery_rig_delivery());
}

static void test_a_hook_gets_exactly_the_events_it_takes(void **state)
{
    (void)state;
    for (unsigned events = 0; events <= DELIVERY_RIG_ALL; events++)
        check_subset(events);
}

static void test_an_object_that_was_never_delivered_leaves_nothing(void **state)
{
    (void)state;
    assert_non_null(delivery_rig_change(DELTA_ADDED, "u1", NULL));
    assert_null(delivery_rig_change(DELTA_DELETED, "u1", NULL));
    assert_null(delivery_rig_change(DELTA_DELETED, "u9", NULL));
    assert_null(delivery_rig_delivery());
    assert_int_equal(delivery_rig.queue.pending_count, 0);
}

static void test_states_in_between_merge(void **state)
{
    (void)state;
    delivery_rig_change(DELTA_ADDED, "u1", "\"a\":1");
    delivery_rig_change(DELTA_MODIFIED, "u1", "\"a\":2");
    assert_string_equal(delivery_rig_due(), "ADDED u1");
    delivery_rig_run(true);
    delivery_rig_change(DELTA_DELETED, "u1", NULL);
    delivery_rig_change(DELTA_ADDED, "u2", NULL);
    delivery_rig_change(DELTA_DELETED, "u2", NULL);
    delivery_rig_change(DELTA_ADDED, "u3", NULL);
    assert_string_equal(delivery_rig_due(), "DELETED u1 ADDED u3");
    delivery_rig_run(true);
    assert_string_equal(delivery_rig_due(), "");
}

static void test_a_change_back_cancels_out_unless_a_run_was_started(void **state)
{
    (void)state;
    delivery_rig_add_handled("u1", "\"a\":1");
    delivery_rig_change(DELTA_MODIFIED, "u1", "\"a\":2");
    delivery_rig_change(DELTA_MODIFIED, "u1", "\"a\":1");
    assert_string_equal(delivery_rig_due(), "");
    delivery_rig_change(DELTA_MODIFIED, "u1", "\"a\":2");
    delivery_rig_run(false);
    delivery_rig_change(DELTA_MODIFIED, "u1", "\"a\":1");
    assert_string_equal(delivery_rig_due(), "MODIFIED u1");
    delivery_rig_run(true);
    assert_string_equal(delivery_rig_due(), "");
}

static void test_a_change_during_a_run_is_due_after_it(void **state)
{
    (void)state;
    delivery_rig_change(DELTA_ADDED, "u1", "\"a\":1");
    struct delivery_rig_run b = delivery_rig_start(1);
    delivery_rig_change(DELTA_MODIFIED, "u1", "\"a\":2");
    delivery_rig_end(b, true);
    assert_string_equal(delivery_rig_due(), "MODIFIED u1");
    b = delivery_rig_start(1);
    delivery_rig_change(DELTA_DELETED, "u1", NULL);
    delivery_rig_end(b, false);
    assert_string_equal(delivery_rig_due(), "DELETED u1");
    b = delivery_rig_start(1);
    delivery_rig_change(DELTA_ADDED, "u2", NULL);
    delivery_rig_end(b, true);
    assert_string_equal(delivery_rig_due(), "ADDED u2");
}

static void test_a_failed_run_counts_as_delivered(void **state)
{
    (void)state;
    delivery_rig_change(DELTA_ADDED, "u1", NULL);
    delivery_rig_run(false);
    delivery_rig_change(DELTA_DELETED, "u1", NULL);
    assert_string_equal(delivery_rig_due(), "DELETED u1");
}

static void test_an_object_that_returns_before_its_end_was_delivered_is_the_same(void **state)
{
    (void)state;
    delivery_rig_add_handled("u1", "\"a\":1");
    delivery_rig_change(DELTA_DELETED, "u1", "\"a\":1");
    delivery_rig_change(DELTA_ADDED, "u1", "\"a\":1");
    assert_string_equal(delivery_rig_due(), "");
    delivery_rig_change(DELTA_DELETED, "u1", "\"a\":1");
    delivery_rig_change(DELTA_ADDED, "u1", "\"a\":2");
    assert_string_equal(delivery_rig_due(), "MODIFIED u1");
}

/* The failed run may have undone the effects of the runs before. */
static void test_an_object_that_returns_after_a_run_for_its_end_is_added(void **state)
{
    (void)state;
    delivery_rig_add_handled("u1", "\"a\":1");
    delivery_rig_change(DELTA_DELETED, "u1", "\"a\":1");
    delivery_rig_run(false);
    delivery_rig_change(DELTA_ADDED, "u1", "\"a\":1");
    assert_string_equal(delivery_rig_due(), "ADDED u1");
}

/* Mode snapshot: one run has the end of one incarnation and the next incarnation. */
static void test_a_failed_run_with_two_incarnations_loses_neither(void **state)
{
    (void)state;
    delivery_rig_replace(DELTA_DELETED);
    delivery_rig_run(false);
    assert_string_equal(delivery_rig_due(), "DELETED u1 ADDED u2");
    delivery_rig_change(DELTA_DELETED, "u2", NULL);
    assert_string_equal(delivery_rig_due(), "DELETED u1 DELETED u2");
    delivery_rig_change(DELTA_ADDED, "u3", NULL);
    assert_string_equal(delivery_rig_due(),
                        "DELETED u1 DELETED u2"); /* a run has at most two events of a key */
    delivery_rig_run(true);
    assert_string_equal(delivery_rig_due(), "ADDED u3");
    delivery_rig_run(true);
    assert_string_equal(delivery_rig_due(), "");
}

static void test_a_good_run_with_two_incarnations_delivers_the_second(void **state)
{
    (void)state;
    delivery_rig_replace(DELTA_DELETED);
    struct delivery_rig_run b = delivery_rig_start(2);
    assert_int_equal(b.n, 2);
    delivery_rig_change(DELTA_DELETED, "u2", NULL);
    delivery_rig_end(b, true);
    assert_string_equal(delivery_rig_due(), "DELETED u2");
}

static void test_the_first_incarnation_may_return_while_the_second_is_due(void **state)
{
    (void)state;
    delivery_rig_replace(DELTA_DELETED);
    delivery_rig_run(false);
    delivery_rig_change(DELTA_DELETED, "u2", NULL);
    delivery_rig_change(DELTA_ADDED, "u1", NULL); /* etcd was restored */
    assert_string_equal(delivery_rig_due(), "DELETED u2 ADDED u1");
    delivery_rig_run(true);
    assert_string_equal(delivery_rig_due(), "");
}

static void test_a_superseded_end_makes_room_for_the_next_incarnation(void **state)
{
    (void)state;
    delivery_rig_replace(DELTA_DELETED);
    delivery_rig_supersede_end();
    assert_string_equal(delivery_rig_due(), "ADDED u2");
}

/* Else the effects of the runs for the first incarnation would stay for ever. */
static void test_a_superseded_end_is_due_again_when_its_successor_vanishes(void **state)
{
    (void)state;
    delivery_rig_replace(DELTA_DELETED);
    delivery_rig_supersede_end();
    delivery_rig_change(DELTA_DELETED, "u2", NULL);
    assert_string_equal(delivery_rig_due(), "DELETED u1");
}

static void test_only_a_change_of_a_watched_path_is_due(void **state)
{
    (void)state;
    delivery_rig_restart(DELIVERY_RIG_ALL, "data.a");
    delivery_rig_add_handled("u1", "\"a\":1,\"b\":1");
    delivery_rig_change(DELTA_MODIFIED, "u1", "\"a\":1,\"b\":2");
    assert_string_equal(delivery_rig_due(), "");
    delivery_rig_change(DELTA_MODIFIED, "u1", "\"a\":2,\"b\":2");
    assert_string_equal(delivery_rig_due(), "MODIFIED u1");
}

static void test_an_end_has_the_last_object_of_the_server(void **state)
{
    struct delivery_event ev[2];
    struct object *last = objects_make("ns/n", "u1", "99", "\"a\":7");
    bool counts;

    (void)state;
    delivery_rig_add_handled("u1", "\"a\":1");
    struct delivery *dl = delivery_queue_change(&delivery_rig.queue, 0,
                                                &(struct delta){.type = DELTA_DELETED,
                                                                .cause = CAUSE_RELIST,
                                                                .object = last,
                                                                .final_state_unknown = true,
                                                                .received_ns = 5},
                                                &counts, delivery_rig.now);
    assert_true(counts);
    assert_int_equal(delivery_events(&delivery_rig.queue, dl, ev), 1);
    assert_ptr_equal(ev[0].object, last);
    assert_int_equal(ev[0].type, DELTA_DELETED);
    assert_int_equal(ev[0].cause, CAUSE_RELIST);
    assert_true(ev[0].final_state_unknown);
    assert_int_equal(ev[0].received_ns, 5);
    object_unref(&last);
}

static void test_waiting_counts_from_the_first_change_until_it_is_handled(void **state)
{
    (void)state;
    delivery_rig_change(DELTA_ADDED, "u1", "\"a\":1");
    delivery_rig.now += 10;
    delivery_rig_change(DELTA_MODIFIED, "u1", "\"a\":2");
    delivery_rig_run(false);
    assert_int_equal(delivery_rig_delivery()->pending_since_ms, 1000);
    struct delivery_rig_run b = delivery_rig_start(1);
    delivery_rig_change(DELTA_MODIFIED, "u1", "\"a\":3");
    delivery_rig.now += 10;
    delivery_rig_end(b, true);
    assert_int_equal(delivery_rig_delivery()->pending_since_ms, 1020);
}

static void test_nothing_counts_as_delivered_before_the_queue_opens(void **state)
{
    (void)state;
    delivery_rig_fini();
    delivery_rig_init(1U << DELTA_DELETED, NULL);
    delivery_rig_change(DELTA_ADDED, "u1", NULL);
    delivery_rig_change(DELTA_DELETED, "u1", NULL);
    assert_null(delivery_rig_delivery());
    delivery_rig_change(DELTA_ADDED, "u2", NULL);
    delivery_queue_open(&delivery_rig.queue, 0, false, delivery_rig.now);
    delivery_rig_change(DELTA_DELETED, "u2", NULL);
    assert_string_equal(delivery_rig_due(), "DELETED u2");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, delivery_rig_set_up, delivery_rig_clean_up)
    const struct CMUnitTest tests[] = {
        TEST(test_added_modified_and_deleted_are_delivered_in_turn),
        TEST(test_a_hook_gets_exactly_the_events_it_takes),
        TEST(test_an_object_that_was_never_delivered_leaves_nothing),
        TEST(test_states_in_between_merge),
        TEST(test_a_change_back_cancels_out_unless_a_run_was_started),
        TEST(test_a_change_during_a_run_is_due_after_it),
        TEST(test_a_failed_run_counts_as_delivered),
        TEST(test_an_object_that_returns_before_its_end_was_delivered_is_the_same),
        TEST(test_an_object_that_returns_after_a_run_for_its_end_is_added),
        TEST(test_a_failed_run_with_two_incarnations_loses_neither),
        TEST(test_a_good_run_with_two_incarnations_delivers_the_second),
        TEST(test_the_first_incarnation_may_return_while_the_second_is_due),
        TEST(test_a_superseded_end_makes_room_for_the_next_incarnation),
        TEST(test_a_superseded_end_is_due_again_when_its_successor_vanishes),
        TEST(test_only_a_change_of_a_watched_path_is_due),
        TEST(test_an_end_has_the_last_object_of_the_server),
        TEST(test_waiting_counts_from_the_first_change_until_it_is_handled),
        TEST(test_nothing_counts_as_delivered_before_the_queue_opens),
    };
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}
