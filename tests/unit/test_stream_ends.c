/* SPDX-License-Identifier: Apache-2.0 */
/* admin/stream: readers that fall behind the changes, or behind the journal, are cut off. */
#include "admin_stream_rig.h"

#include <string.h>

/* ---- Readers that stay behind */

static void expect_cut(void)
{
    assert_int_equal(
        admin_stream_pull(admin_stream_rig.stream, &admin_stream_rig.out, ADMIN_STREAM_RIG_PIECE),
        ADMIN_STREAM_ENDED);
    assert_non_null(strstr(buf_cstr(&admin_stream_rig.out),
                           "{\"type\":\"ERROR\",\"error\":\"the reader was too slow"));
    assert_string_equal(admin_stream_rig_sum_up(), "ERROR ;");
    assert_int_equal(
        admin_stream_pull(admin_stream_rig.stream, &admin_stream_rig.out, ADMIN_STREAM_RIG_PIECE),
        ADMIN_STREAM_ENDED);
    assert_int_equal(admin_stream_rig.out.len, 0);
    assert_non_null(admin_stream_complaint(admin_stream_rig.stream));
}

static void test_too_many_changes_cut_a_stream_off(void **state)
{
    struct object *o = objects_make("a/x", "u", "1", NULL);
    const struct delta d = {.type = DELTA_MODIFIED, .object = o, .received_ns = 1};

    (void)state;
    admin_stream_rig_sync((const char *const[]){NULL}, "5");
    admin_stream_rig_follow("w");
    admin_stream_rig_expect(ADMIN_STREAM_EMPTY, "SYNCED ;");
    for (size_t i = 0; i < ADMIN_STREAM_BACKLOG; i++)
        admin_stream_rig_delta(&d);
    assert_int_equal(admin_stream_rig_pull_all(), ADMIN_STREAM_EMPTY); /* just within the limit */
    assert_int_equal(admin_stream_rig_lines(), ADMIN_STREAM_BACKLOG);
    buf_clear(&admin_stream_rig.out);
    for (size_t i = 0; i <= ADMIN_STREAM_BACKLOG; i++)
        admin_stream_rig_delta(&d);
    expect_cut();
    admin_stream_rig_delta(&d);
    admin_stream_rig_expect(ADMIN_STREAM_ENDED, "");
    object_unref(&o);
}

/* The stream lets go of its objects at once, before the next pull: ASan finds a lost reference. */
static void test_too_many_bytes_cut_a_stream_off(void **state)
{
    struct buf data = {0};

    (void)state;
    admin_stream_rig_sync((const char *const[]){NULL}, "5");
    admin_stream_rig_follow("w");
    buf_puts(&data, "\"a\":\"");
    for (size_t i = 0; i < (size_t)1000000; i++)
        buf_putc(&data, 'x');
    buf_puts(&data, "\"");
    struct object *o = objects_make("a/x", "u", "1", buf_cstr(&data));
    const struct delta d = {.type = DELTA_MODIFIED, .object = o, .received_ns = 1};
    for (size_t i = 0; i < ADMIN_STREAM_BACKLOG_BYTES / 1000000; i++)
        admin_stream_rig_delta(&d);
    assert_null(admin_stream_complaint(admin_stream_rig.stream));
    admin_stream_rig_delta(&d);
    assert_non_null(admin_stream_complaint(admin_stream_rig.stream));
    expect_cut();
    object_unref(&o);
    buf_free(&data);
}

static void test_a_stream_is_cut_off_while_the_objects_are_sent(void **state)
{
    struct object *o = objects_make("a/x", "u", "1", NULL);
    const struct delta d = {.type = DELTA_MODIFIED, .object = o, .received_ns = 1};

    (void)state;
    admin_stream_rig_sync_many(10, "u", "5");
    admin_stream_rig_follow("w");
    assert_int_equal(admin_stream_pull(admin_stream_rig.stream, &admin_stream_rig.out, 1),
                     ADMIN_STREAM_MORE);
    buf_clear(&admin_stream_rig.out);
    for (size_t i = 0; i <= ADMIN_STREAM_BACKLOG + 20; i++)
        admin_stream_rig_delta(&d);
    expect_cut();
    object_unref(&o);
}

/* Twice as many changes as may wait come in one call, in which the reader cannot take any. */
static void test_a_list_that_replaces_all_is_no_fault_of_the_reader(void **state)
{
    enum { MANY = ADMIN_STREAM_BACKLOG + 5000 };

    (void)state;
    admin_stream_rig_sync_many(MANY, "u", "5");
    admin_stream_rig_follow("w");
    assert_int_equal(admin_stream_rig_pull_all(), ADMIN_STREAM_EMPTY);
    admin_stream_rig_ask_anew();
    admin_stream_rig_sync_many(MANY, "v", "6");
    assert_int_equal(admin_stream_rig_pull_all(), ADMIN_STREAM_EMPTY);
    assert_int_equal(admin_stream_rig_lines(), MANY + MANY);
    admin_stream_rig_ask_anew();
    admin_stream_rig_sync((const char *const[]){NULL}, "7");
    admin_stream_rig_ask_anew();
    admin_stream_rig_sync_many(MANY, "x", "8");
    assert_int_equal(admin_stream_rig_pull_all(), ADMIN_STREAM_EMPTY);
    assert_int_equal(admin_stream_rig_lines(), MANY + MANY);
    assert_null(admin_stream_complaint(admin_stream_rig.stream));
}

/* The same before the reader has the objects. */
static void test_all_objects_go_before_they_are_sent(void **state)
{
    enum { MANY = ADMIN_STREAM_BACKLOG + 5000 };

    (void)state;
    admin_stream_rig_sync_many(MANY, "u", "5");
    admin_stream_rig_follow("w");
    admin_stream_rig_ask_anew();
    admin_stream_rig_sync_many(0, "u", "6");
    assert_int_equal(admin_stream_rig_pull_all(), ADMIN_STREAM_EMPTY);
    assert_int_equal(admin_stream_rig_lines(), MANY + 1 + MANY);
}

/* The size of the source long ago is no measure for later changes. */
static void test_a_source_that_shrank(void **state)
{
    struct object *o = objects_make("a/x", "u", "1", NULL);
    const struct delta d = {.type = DELTA_MODIFIED, .object = o, .received_ns = 1};

    (void)state;
    admin_stream_rig_sync_many(100, "u", "5");
    admin_stream_rig_follow("w");
    admin_stream_rig_ask_anew();
    admin_stream_rig_sync_many(0, "u", "6");
    assert_int_equal(admin_stream_rig_pull_all(), ADMIN_STREAM_EMPTY);
    buf_clear(&admin_stream_rig.out);
    for (size_t i = 0; i <= ADMIN_STREAM_BACKLOG; i++)
        admin_stream_rig_delta(&d);
    expect_cut();
    object_unref(&o);
}

static void test_destroyed_in_the_middle(void **state)
{
    (void)state;
    admin_stream_rig_sync((const char *const[]){"a", "b", NULL}, "5");
    admin_stream_rig_follow("w");
    assert_int_equal(admin_stream_pull(admin_stream_rig.stream, &admin_stream_rig.out, 1),
                     ADMIN_STREAM_MORE);
    admin_stream_rig_say("MODIFIED", "a", "6");
    admin_stream_destroy(&admin_stream_rig.stream);
    assert_null(admin_stream_rig.stream);
    admin_stream_rig_say("MODIFIED", "a", "7");
    admin_stream_destroy(&admin_stream_rig.stream);
}

/* ---- The journal */

static void note(size_t n)
{
    for (size_t i = 0; i < n; i++)
        journal_hook(admin_stream_rig.journal, 1, "h", str_c(""), "paused");
}

static void test_the_journal_is_followed_from_its_oldest_line(void **state)
{
    (void)state;
    note(2);
    admin_stream_rig_follow_journal();
    assert_int_equal(
        admin_stream_pull(admin_stream_rig.stream, &admin_stream_rig.out, ADMIN_STREAM_RIG_PIECE),
        ADMIN_STREAM_EMPTY);
    assert_int_equal(admin_stream_rig_lines(), 2);
    note(1);
    assert_int_equal(admin_stream_rig.woken, 1);
    note(1);
    assert_int_equal(admin_stream_rig.woken, 1);
    buf_clear(&admin_stream_rig.out);
    assert_int_equal(
        admin_stream_pull(admin_stream_rig.stream, &admin_stream_rig.out, ADMIN_STREAM_RIG_PIECE),
        ADMIN_STREAM_EMPTY);
    assert_non_null(strstr(buf_cstr(&admin_stream_rig.out), "\"seq\":3,"));
    assert_non_null(strstr(buf_cstr(&admin_stream_rig.out), "\"seq\":4,"));
    assert_string_equal(admin_stream_name(admin_stream_rig.stream), "events");
}

static void test_a_follower_of_the_journal_falls_behind(void **state)
{
    (void)state;
    admin_stream_rig_follow_journal();
    note(10);
    assert_int_equal(admin_stream_pull(admin_stream_rig.stream, &admin_stream_rig.out, 1),
                     ADMIN_STREAM_MORE);
    note(JOURNAL_LINES);
    buf_clear(&admin_stream_rig.out);
    assert_int_equal(
        admin_stream_pull(admin_stream_rig.stream, &admin_stream_rig.out, ADMIN_STREAM_RIG_PIECE),
        ADMIN_STREAM_ENDED);
    assert_string_equal(
        buf_cstr(&admin_stream_rig.out),
        "{\"what\":\"error\",\"error\":\"the reader was too slow: lines are lost\",\"lost\":9}\n");
    assert_non_null(admin_stream_complaint(admin_stream_rig.stream));
    note(1);
    assert_int_equal(
        admin_stream_pull(admin_stream_rig.stream, &admin_stream_rig.out, ADMIN_STREAM_RIG_PIECE),
        ADMIN_STREAM_ENDED);
}

static void test_a_reader_of_a_source_gets_no_journal(void **state)
{
    (void)state;
    admin_stream_rig_sync((const char *const[]){NULL}, "5");
    admin_stream_rig_follow("w");
    admin_stream_rig_expect(ADMIN_STREAM_EMPTY, "SYNCED ;");
    note(1);
    assert_int_equal(admin_stream_rig.woken, 0);
    admin_stream_rig_expect(ADMIN_STREAM_EMPTY, "");
}

#define ADMIN_STREAM_RIG(test) \
    cmocka_unit_test_setup_teardown(test, admin_stream_rig_set_up, admin_stream_rig_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ADMIN_STREAM_RIG(test_too_many_changes_cut_a_stream_off),
        ADMIN_STREAM_RIG(test_too_many_bytes_cut_a_stream_off),
        ADMIN_STREAM_RIG(test_a_stream_is_cut_off_while_the_objects_are_sent),
        ADMIN_STREAM_RIG(test_a_list_that_replaces_all_is_no_fault_of_the_reader),
        ADMIN_STREAM_RIG(test_all_objects_go_before_they_are_sent),
        ADMIN_STREAM_RIG(test_a_source_that_shrank),
        ADMIN_STREAM_RIG(test_destroyed_in_the_middle),
        ADMIN_STREAM_RIG(test_the_journal_is_followed_from_its_oldest_line),
        ADMIN_STREAM_RIG(test_a_follower_of_the_journal_falls_behind),
        ADMIN_STREAM_RIG(test_a_reader_of_a_source_gets_no_journal),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
