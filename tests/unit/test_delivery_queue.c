/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "delivery_rig.h"

static void test_a_life_is_told_from_begin_to_end(void **state)
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
    assert_null(delivery_rig_entry());
}

/* Each subset of the events, and what of one life and the next it hears. */
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
    assert_null(delivery_rig_entry());
}

static void test_every_subset_of_events_hears_its_part(void **state)
{
    (void)state;
    for (unsigned events = 0; events <= DELIVERY_RIG_ALL; events++)
        check_subset(events);
}

static void test_a_life_that_was_never_told_leaves_nothing(void **state)
{
    (void)state;
    assert_non_null(delivery_rig_change(DELTA_ADDED, "u1", NULL));
    assert_null(delivery_rig_change(DELTA_DELETED, "u1", NULL));
    assert_null(delivery_rig_change(DELTA_DELETED, "u9", NULL));
    assert_null(delivery_rig_entry());
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
    delivery_rig_change(DELTA_ADDED, "u1", "\"a\":1");
    delivery_rig_run(true);
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

static void test_what_changes_while_it_runs_is_due_after_it(void **state)
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

static void test_a_failed_add_was_announced(void **state)
{
    (void)state;
    delivery_rig_change(DELTA_ADDED, "u1", NULL);
    delivery_rig_run(false);
    delivery_rig_change(DELTA_DELETED, "u1", NULL);
    assert_string_equal(delivery_rig_due(), "DELETED u1");
}

static void test_an_object_that_returns_before_its_end_was_told_is_the_same(void **state)
{
    (void)state;
    delivery_rig_change(DELTA_ADDED, "u1", "\"a\":1");
    delivery_rig_run(true);
    delivery_rig_change(DELTA_DELETED, "u1", "\"a\":1");
    delivery_rig_change(DELTA_ADDED, "u1", "\"a\":1");
    assert_string_equal(delivery_rig_due(), "");
    delivery_rig_change(DELTA_DELETED, "u1", "\"a\":1");
    delivery_rig_change(DELTA_ADDED, "u1", "\"a\":2");
    assert_string_equal(delivery_rig_due(), "MODIFIED u1");
}

/* The failed run may have taken everything down. */
static void test_an_object_that_returns_after_its_end_was_begun_is_added(void **state)
{
    (void)state;
    delivery_rig_change(DELTA_ADDED, "u1", "\"a\":1");
    delivery_rig_run(true);
    delivery_rig_change(DELTA_DELETED, "u1", "\"a\":1");
    delivery_rig_run(false);
    delivery_rig_change(DELTA_ADDED, "u1", "\"a\":1");
    assert_string_equal(delivery_rig_due(), "ADDED u1");
}

/* Mode snapshot: the end of one life and the next life are told by one run. */
static void test_a_failed_run_with_two_lives_loses_neither(void **state)
{
    (void)state;
    delivery_rig_change(DELTA_ADDED, "u1", NULL);
    delivery_rig_run(true);
    delivery_rig_change(DELTA_DELETED, "u1", NULL);
    delivery_rig_change(DELTA_ADDED, "u2", NULL);
    delivery_rig_run(false);
    assert_string_equal(delivery_rig_due(), "DELETED u1 ADDED u2");
    delivery_rig_change(DELTA_DELETED, "u2", NULL);
    assert_string_equal(delivery_rig_due(), "DELETED u1 DELETED u2");
    delivery_rig_change(DELTA_ADDED, "u3", NULL);
    assert_string_equal(delivery_rig_due(), "DELETED u1 DELETED u2"); /* at most two */
    delivery_rig_run(true);
    assert_string_equal(delivery_rig_due(), "ADDED u3");
    delivery_rig_run(true);
    assert_string_equal(delivery_rig_due(), "");
}

static void test_a_good_run_with_two_lives_announces_the_second(void **state)
{
    (void)state;
    delivery_rig_change(DELTA_ADDED, "u1", NULL);
    delivery_rig_run(true);
    delivery_rig_change(DELTA_DELETED, "u1", NULL);
    delivery_rig_change(DELTA_ADDED, "u2", NULL);
    struct delivery_rig_run b = delivery_rig_start(2);
    assert_int_equal(b.n, 2);
    delivery_rig_change(DELTA_DELETED, "u2", NULL);
    delivery_rig_end(b, true);
    assert_string_equal(delivery_rig_due(), "DELETED u2");
}

static void test_the_first_life_may_return_while_the_second_is_owed(void **state)
{
    (void)state;
    delivery_rig_change(DELTA_ADDED, "u1", NULL);
    delivery_rig_run(true);
    delivery_rig_change(DELTA_DELETED, "u1", NULL);
    delivery_rig_change(DELTA_ADDED, "u2", NULL);
    delivery_rig_run(false);
    delivery_rig_change(DELTA_DELETED, "u2", NULL);
    delivery_rig_change(DELTA_ADDED, "u1", NULL); /* etcd was restored */
    assert_string_equal(delivery_rig_due(), "DELETED u2 ADDED u1");
    delivery_rig_run(true);
    assert_string_equal(delivery_rig_due(), "");
}

static void test_an_end_that_is_given_up_makes_room(void **state)
{
    (void)state;
    delivery_rig_change(DELTA_ADDED, "u1", NULL);
    delivery_rig_run(true);
    delivery_rig_change(DELTA_DELETED, "u1", NULL);
    delivery_rig_change(DELTA_ADDED, "u2", NULL);
    delivery_rig_end(delivery_rig_start(1), false);
    delivery_supersede(&delivery_rig.queue, delivery_rig_entry(), delivery_rig.now);
    assert_string_equal(delivery_rig_due(), "ADDED u2");
}

/* Else the hook would keep for ever what it made of the first life. */
static void test_an_end_that_gave_way_is_owed_when_the_next_life_vanishes_unheard(void **state)
{
    (void)state;
    delivery_rig_change(DELTA_ADDED, "u1", NULL);
    delivery_rig_run(true);
    delivery_rig_change(DELTA_DELETED, "u1", NULL);
    delivery_rig_change(DELTA_ADDED, "u2", NULL);
    delivery_rig_end(delivery_rig_start(1), false);
    delivery_supersede(&delivery_rig.queue, delivery_rig_entry(), delivery_rig.now);
    delivery_rig_change(DELTA_DELETED, "u2", NULL);
    assert_string_equal(delivery_rig_due(), "DELETED u1");
}

static void test_only_paths_that_are_watched_make_it_due(void **state)
{
    (void)state;
    delivery_rig_restart(DELIVERY_RIG_ALL, "data.a");
    delivery_rig_change(DELTA_ADDED, "u1", "\"a\":1,\"b\":1");
    delivery_rig_run(true);
    delivery_rig_change(DELTA_MODIFIED, "u1", "\"a\":1,\"b\":2");
    assert_string_equal(delivery_rig_due(), "");
    delivery_rig_change(DELTA_MODIFIED, "u1", "\"a\":2,\"b\":2");
    assert_string_equal(delivery_rig_due(), "MODIFIED u1");
}

static void test_the_end_carries_what_the_server_said_last(void **state)
{
    struct delivery_event ev[2];
    struct object *last = objects_make("ns/n", "u1", "99", "\"a\":7");

    (void)state;
    delivery_rig_change(DELTA_ADDED, "u1", "\"a\":1");
    delivery_rig_run(true);
    struct delivery *dl = delivery_queue_change(&delivery_rig.queue, 0,
                                                &(struct delta){.type = DELTA_DELETED,
                                                                .cause = CAUSE_RELIST,
                                                                .object = last,
                                                                .final_state_unknown = true,
                                                                .received_ns = 5},
                                                delivery_rig.now);
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
    assert_int_equal(delivery_rig_entry()->pending_since_ms, 1000);
    struct delivery_rig_run b = delivery_rig_start(1);
    delivery_rig_change(DELTA_MODIFIED, "u1", "\"a\":3");
    delivery_rig.now += 10;
    delivery_rig_end(b, true);
    assert_int_equal(delivery_rig_entry()->pending_since_ms, 1020);
}

static void test_before_it_is_open_nothing_counts_as_announced(void **state)
{
    (void)state;
    delivery_rig_fini();
    delivery_rig_init(1U << DELTA_DELETED, NULL);
    delivery_rig_change(DELTA_ADDED, "u1", NULL);
    delivery_rig_change(DELTA_DELETED, "u1", NULL);
    assert_null(delivery_rig_entry());
    delivery_rig_change(DELTA_ADDED, "u2", NULL);
    delivery_queue_open(&delivery_rig.queue, 0, false, delivery_rig.now);
    delivery_rig_change(DELTA_DELETED, "u2", NULL);
    assert_string_equal(delivery_rig_due(), "DELETED u2");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, delivery_rig_set_up, delivery_rig_clean_up)
    const struct CMUnitTest tests[] = {
        TEST(test_a_life_is_told_from_begin_to_end),
        TEST(test_every_subset_of_events_hears_its_part),
        TEST(test_a_life_that_was_never_told_leaves_nothing),
        TEST(test_states_in_between_merge),
        TEST(test_a_change_back_cancels_out_unless_a_run_was_started),
        TEST(test_what_changes_while_it_runs_is_due_after_it),
        TEST(test_a_failed_add_was_announced),
        TEST(test_an_object_that_returns_before_its_end_was_told_is_the_same),
        TEST(test_an_object_that_returns_after_its_end_was_begun_is_added),
        TEST(test_a_failed_run_with_two_lives_loses_neither),
        TEST(test_a_good_run_with_two_lives_announces_the_second),
        TEST(test_the_first_life_may_return_while_the_second_is_owed),
        TEST(test_an_end_that_is_given_up_makes_room),
        TEST(test_an_end_that_gave_way_is_owed_when_the_next_life_vanishes_unheard),
        TEST(test_only_paths_that_are_watched_make_it_due),
        TEST(test_the_end_carries_what_the_server_said_last),
        TEST(test_waiting_counts_from_the_first_change_until_it_is_handled),
        TEST(test_before_it_is_open_nothing_counts_as_announced),
    };
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}
