/* SPDX-License-Identifier: Apache-2.0 */
#include "objects.h"

#include <stdio.h>
#include <string.h>

#include "hook/queue.h"

/* One key of one source: what is due is written as text, "DELETED u1 ADDED u2". */

enum { ALL = 0xf };

static struct filter filter;
static struct queue queue;
static struct buf text;
static uint64_t now;

static void init(unsigned events, const char *path)
{
    const char *const paths[] = {path};

    now = 1000;
    assert_int_equal(filter_init(&filter, events, paths, path != NULL ? 1 : 0, NULL), ERR_OK);
    queue_init(&queue, &filter, 1);
    queue_open(&queue, false);
}

static void fini(void)
{
    queue_fini(&queue);
    filter_fini(&filter);
    buf_free(&text);
}

static int set_up(void **state)
{
    (void)state;
    init(ALL, NULL);
    return 0;
}

static int clean_up(void **state)
{
    (void)state;
    fini();
    return 0;
}

static struct entry *change(enum delta_type type, const char *uid, const char *data)
{
    struct object *o = objects_make("ns/n", uid, "1", data);
    struct entry *e = queue_change(
        &queue, 0, &(struct delta){.type = type, .cause = CAUSE_WATCH, .object = o}, now);

    object_unref(&o);
    return e;
}

static struct entry *entry(void)
{
    struct map_node *node = map_get(&queue.by_key[0], str_c("ns/n"));

    return node != NULL ? map_entry(node, struct entry, node) : NULL;
}

/* What the hook would be told now. */
static const char *due(void)
{
    struct queue_event ev[2];
    struct entry *e = entry();
    size_t n = e != NULL && queue_due(e) ? queue_events(&queue, e, ev) : 0;

    buf_clear(&text);
    for (size_t i = 0; i < n; i++)
        if (filter_takes(&filter, ev[i].type))
            buf_printf(&text, "%s%s %.*s", text.len > 0 ? " " : "", delta_type_name(ev[i].type),
                       STR_ARG(object_uid(ev[i].object)));
    assert_int_equal(queue.pending_count, n > 0 ? 1 : 0);
    return buf_cstr(&text);
}

struct batch {
    struct queue_event ev[2];
    size_t n;
};

/* A run with everything that is due (or the first of it) starts. */
static struct batch start(size_t most)
{
    struct batch b = {0};
    struct entry *e = entry();
    size_t n = queue_events(&queue, e, b.ev);

    for (; b.n < n && b.n < most && filter_takes(&filter, b.ev[b.n].type); b.n++) {
        object_ref(b.ev[b.n].object);
        queue_started(e, &b.ev[b.n]);
    }
    return b;
}

static void end(struct batch b, bool ok)
{
    struct entry *e = entry();

    for (size_t i = 0; i < b.n; i++)
        queue_ended(&queue, e);
    for (size_t i = 0; i < b.n && ok; i++)
        queue_handled(&queue, e, &b.ev[i], now);
    for (size_t i = 0; i < b.n; i++)
        object_unref(&b.ev[i].object);
    queue_release(&queue, e);
}

static void run(bool ok)
{
    end(start(2), ok);
}

static void test_a_life_is_told_from_begin_to_end(void **state)
{
    (void)state;
    change(DELTA_ADDED, "u1", "\"a\":1");
    assert_string_equal(due(), "ADDED u1");
    run(true);
    assert_string_equal(due(), "");
    change(DELTA_MODIFIED, "u1", "\"a\":2");
    assert_string_equal(due(), "MODIFIED u1");
    run(true);
    change(DELTA_DELETED, "u1", "\"a\":2");
    assert_string_equal(due(), "DELETED u1");
    run(true);
    assert_null(entry());
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

    init(events, NULL);
    for (size_t i = 0; i < ARRAY_LEN(story); i++) {
        char want[32] = "";

        change(story[i].type, story[i].uid, story[i].data);
        if ((events >> story[i].type & 1) != 0)
            snprintf(want, sizeof(want), "%s %s", delta_type_name(story[i].type), story[i].uid);
        assert_string_equal(due(), want);
        if (want[0] != '\0')
            run(true);
        assert_string_equal(due(), "");
    }
    assert_null(entry());
    fini();
}

static void test_every_subset_of_events_hears_its_part(void **state)
{
    (void)state;
    for (unsigned events = 0; events <= ALL; events++)
        check_subset(events);
}

static void test_a_life_that_was_never_told_leaves_nothing(void **state)
{
    (void)state;
    assert_non_null(change(DELTA_ADDED, "u1", NULL));
    assert_null(change(DELTA_DELETED, "u1", NULL));
    assert_null(change(DELTA_DELETED, "u9", NULL));
    assert_null(entry());
    assert_int_equal(queue.pending_count, 0);
}

static void test_states_in_between_merge(void **state)
{
    (void)state;
    change(DELTA_ADDED, "u1", "\"a\":1");
    change(DELTA_MODIFIED, "u1", "\"a\":2");
    assert_string_equal(due(), "ADDED u1");
    run(true);
    change(DELTA_DELETED, "u1", NULL);
    change(DELTA_ADDED, "u2", NULL);
    change(DELTA_DELETED, "u2", NULL);
    change(DELTA_ADDED, "u3", NULL);
    assert_string_equal(due(), "DELETED u1 ADDED u3");
    run(true);
    assert_string_equal(due(), "");
}

static void test_a_change_back_cancels_out_unless_a_run_was_started(void **state)
{
    (void)state;
    change(DELTA_ADDED, "u1", "\"a\":1");
    run(true);
    change(DELTA_MODIFIED, "u1", "\"a\":2");
    change(DELTA_MODIFIED, "u1", "\"a\":1");
    assert_string_equal(due(), "");
    change(DELTA_MODIFIED, "u1", "\"a\":2");
    run(false);
    change(DELTA_MODIFIED, "u1", "\"a\":1");
    assert_string_equal(due(), "MODIFIED u1");
    run(true);
    assert_string_equal(due(), "");
}

static void test_what_changes_while_it_runs_is_due_after_it(void **state)
{
    (void)state;
    change(DELTA_ADDED, "u1", "\"a\":1");
    struct batch b = start(1);
    change(DELTA_MODIFIED, "u1", "\"a\":2");
    end(b, true);
    assert_string_equal(due(), "MODIFIED u1");
    b = start(1);
    change(DELTA_DELETED, "u1", NULL);
    end(b, false);
    assert_string_equal(due(), "DELETED u1");
    b = start(1);
    change(DELTA_ADDED, "u2", NULL);
    end(b, true);
    assert_string_equal(due(), "ADDED u2");
}

static void test_a_failed_add_was_announced(void **state)
{
    (void)state;
    change(DELTA_ADDED, "u1", NULL);
    run(false);
    change(DELTA_DELETED, "u1", NULL);
    assert_string_equal(due(), "DELETED u1");
}

static void test_an_object_that_returns_before_its_end_was_told_is_the_same(void **state)
{
    (void)state;
    change(DELTA_ADDED, "u1", "\"a\":1");
    run(true);
    change(DELTA_DELETED, "u1", "\"a\":1");
    change(DELTA_ADDED, "u1", "\"a\":1");
    assert_string_equal(due(), "");
    change(DELTA_DELETED, "u1", "\"a\":1");
    change(DELTA_ADDED, "u1", "\"a\":2");
    assert_string_equal(due(), "MODIFIED u1");
}

/* The failed run may have taken everything down. */
static void test_an_object_that_returns_after_its_end_was_begun_is_added(void **state)
{
    (void)state;
    change(DELTA_ADDED, "u1", "\"a\":1");
    run(true);
    change(DELTA_DELETED, "u1", "\"a\":1");
    run(false);
    change(DELTA_ADDED, "u1", "\"a\":1");
    assert_string_equal(due(), "ADDED u1");
}

/* Mode snapshot: the end of one life and the next life are told by one run. */
static void test_a_failed_run_with_two_lives_loses_neither(void **state)
{
    (void)state;
    change(DELTA_ADDED, "u1", NULL);
    run(true);
    change(DELTA_DELETED, "u1", NULL);
    change(DELTA_ADDED, "u2", NULL);
    run(false);
    assert_string_equal(due(), "DELETED u1 ADDED u2");
    change(DELTA_DELETED, "u2", NULL);
    assert_string_equal(due(), "DELETED u1 DELETED u2");
    change(DELTA_ADDED, "u3", NULL);
    assert_string_equal(due(), "DELETED u1 DELETED u2"); /* at most two */
    run(true);
    assert_string_equal(due(), "ADDED u3");
    run(true);
    assert_string_equal(due(), "");
}

static void test_a_good_run_with_two_lives_announces_the_second(void **state)
{
    (void)state;
    change(DELTA_ADDED, "u1", NULL);
    run(true);
    change(DELTA_DELETED, "u1", NULL);
    change(DELTA_ADDED, "u2", NULL);
    struct batch b = start(2);
    assert_int_equal(b.n, 2);
    change(DELTA_DELETED, "u2", NULL);
    end(b, true);
    assert_string_equal(due(), "DELETED u2");
}

static void test_the_first_life_may_return_while_the_second_is_owed(void **state)
{
    (void)state;
    change(DELTA_ADDED, "u1", NULL);
    run(true);
    change(DELTA_DELETED, "u1", NULL);
    change(DELTA_ADDED, "u2", NULL);
    run(false);
    change(DELTA_DELETED, "u2", NULL);
    change(DELTA_ADDED, "u1", NULL); /* etcd was restored */
    assert_string_equal(due(), "DELETED u2 ADDED u1");
    run(true);
    assert_string_equal(due(), "");
}

static void test_an_end_that_is_given_up_makes_room(void **state)
{
    (void)state;
    change(DELTA_ADDED, "u1", NULL);
    run(true);
    change(DELTA_DELETED, "u1", NULL);
    change(DELTA_ADDED, "u2", NULL);
    end(start(1), false);
    queue_yield(&queue, entry(), now);
    assert_string_equal(due(), "ADDED u2");
}

/* Else the hook would keep for ever what it made of the first life. */
static void test_an_end_that_gave_way_is_owed_when_the_next_life_vanishes_unheard(void **state)
{
    (void)state;
    change(DELTA_ADDED, "u1", NULL);
    run(true);
    change(DELTA_DELETED, "u1", NULL);
    change(DELTA_ADDED, "u2", NULL);
    end(start(1), false);
    queue_yield(&queue, entry(), now);
    change(DELTA_DELETED, "u2", NULL);
    assert_string_equal(due(), "DELETED u1");
}

static void test_only_paths_that_are_watched_make_it_due(void **state)
{
    (void)state;
    fini();
    init(ALL, "data.a");
    change(DELTA_ADDED, "u1", "\"a\":1,\"b\":1");
    run(true);
    change(DELTA_MODIFIED, "u1", "\"a\":1,\"b\":2");
    assert_string_equal(due(), "");
    change(DELTA_MODIFIED, "u1", "\"a\":2,\"b\":2");
    assert_string_equal(due(), "MODIFIED u1");
}

static void test_the_end_carries_what_the_server_said_last(void **state)
{
    struct queue_event ev[2];
    struct object *last = objects_make("ns/n", "u1", "99", "\"a\":7");

    (void)state;
    change(DELTA_ADDED, "u1", "\"a\":1");
    run(true);
    struct entry *e = queue_change(&queue, 0,
                                   &(struct delta){.type = DELTA_DELETED,
                                                   .cause = CAUSE_RELIST,
                                                   .object = last,
                                                   .final_state_unknown = true,
                                                   .received_ns = 5},
                                   now);
    assert_int_equal(queue_events(&queue, e, ev), 1);
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
    change(DELTA_ADDED, "u1", "\"a\":1");
    now += 10;
    change(DELTA_MODIFIED, "u1", "\"a\":2");
    run(false);
    assert_int_equal(entry()->pending_since_ms, 1000);
    struct batch b = start(1);
    change(DELTA_MODIFIED, "u1", "\"a\":3");
    now += 10;
    end(b, true);
    assert_int_equal(entry()->pending_since_ms, 1020);
}

static void test_before_it_is_open_nothing_counts_as_announced(void **state)
{
    (void)state;
    fini();
    assert_int_equal(filter_init(&filter, 1U << DELTA_DELETED, NULL, 0, NULL), ERR_OK);
    queue_init(&queue, &filter, 1);
    change(DELTA_ADDED, "u1", NULL);
    change(DELTA_DELETED, "u1", NULL);
    assert_null(entry());
    change(DELTA_ADDED, "u2", NULL);
    queue_open(&queue, false);
    change(DELTA_DELETED, "u2", NULL);
    assert_string_equal(due(), "DELETED u2");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, clean_up)
    const struct CMUnitTest tests[] = {
        TEST(test_a_life_is_told_from_begin_to_end),
        cmocka_unit_test(test_every_subset_of_events_hears_its_part),
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
