/* SPDX-License-Identifier: Apache-2.0 */
/* admin/stream: the lines that a reader of a source gets, and their order. */
#include "admin_stream_rig.h"

#include <string.h>

/* ---- A source */

static void test_objects_then_a_sync_line_then_changes(void **state)
{
    (void)state;
    admin_stream_rig_sync((const char *const[]){"b/x", "a/y", "a/x", NULL}, "5");
    admin_stream_rig_follow("w");
    assert_int_equal(
        admin_stream_pull(admin_stream_rig.stream, &admin_stream_rig.out, ADMIN_STREAM_RIG_PIECE),
        ADMIN_STREAM_EMPTY);
    assert_non_null(strstr(
        buf_cstr(&admin_stream_rig.out),
        "{\"type\":\"ADDED\",\"cause\":\"relist\",\"cluster\":\"c\",\"source\":\"w\","
        "\"api_version\":\"v1\",\"kind\":\"ConfigMap\",\"namespace\":\"a\",\"name\":\"x\","
        "\"uid\":\"u\",\"resource_version\":\"5\",\"final_state_unknown\":false,\"received\":null,"
        "\"object\":{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{\"namespace\":"
        "\"a\","
        "\"name\":\"x\",\"uid\":\"u\",\"resourceVersion\":\"5\"}}}\n"));
    assert_non_null(strstr(buf_cstr(&admin_stream_rig.out),
                           "{\"type\":\"SYNCED\",\"cluster\":\"c\",\"source\":\"w\","
                           "\"objects\":3,\"stale\":false}\n"));
    assert_string_equal(admin_stream_rig_sum_up(), "ADDED x;ADDED y;ADDED x;SYNCED ;");

    admin_stream_rig_say("MODIFIED", "a/x", "6");
    admin_stream_rig_say("DELETED", "a/y", "7");
    assert_int_equal(
        admin_stream_pull(admin_stream_rig.stream, &admin_stream_rig.out, ADMIN_STREAM_RIG_PIECE),
        ADMIN_STREAM_EMPTY);
    assert_non_null(
        strstr(buf_cstr(&admin_stream_rig.out), "\"received\":\"1970-01-01T00:00:01.000000001Z\""));
    assert_non_null(strstr(buf_cstr(&admin_stream_rig.out), "\"cause\":\"watch\""));
    assert_string_equal(admin_stream_rig_sum_up(), "MODIFIED x;DELETED y;");
    admin_stream_rig_expect(ADMIN_STREAM_EMPTY, "");
    assert_null(admin_stream_complaint(admin_stream_rig.stream));
}

static void test_a_source_without_objects(void **state)
{
    (void)state;
    admin_stream_rig_sync((const char *const[]){NULL}, "5");
    admin_stream_rig_follow("w");
    admin_stream_rig_expect(ADMIN_STREAM_EMPTY, "SYNCED ;");
}

/* The reader knows the watch by the name it asked for. */
static void test_lines_have_the_name_that_the_reader_asked_for(void **state)
{
    (void)state;
    admin_stream_rig_sync((const char *const[]){"a/x", NULL}, "5");
    admin_stream_rig_follow("twin");
    assert_string_equal(admin_stream_name(admin_stream_rig.stream), "twin");
    admin_stream_rig_say("MODIFIED", "a/x", "6");
    assert_int_equal(
        admin_stream_pull(admin_stream_rig.stream, &admin_stream_rig.out, ADMIN_STREAM_RIG_PIECE),
        ADMIN_STREAM_EMPTY);
    for (const char *at = buf_cstr(&admin_stream_rig.out);
         (at = strstr(at, "\"source\":\"")) != NULL; at++)
        assert_memory_equal(at, "\"source\":\"twin\"", 15);
    assert_null(strstr(buf_cstr(&admin_stream_rig.out), "\"w\""));
    assert_int_equal(admin_stream_rig_lines(), 3);
}

/* A reader gets a state and all changes that follow from it, wherever it was when the state
 * changed. */
static void test_changes_while_the_objects_are_sent(void **state)
{
    (void)state;
    admin_stream_rig_sync((const char *const[]){"a", "b", "c", NULL}, "5");
    admin_stream_rig_follow("w");
    assert_int_equal(admin_stream_pull(admin_stream_rig.stream, &admin_stream_rig.out, 1),
                     ADMIN_STREAM_MORE);
    assert_string_equal(admin_stream_rig_sum_up(), "ADDED a;");
    admin_stream_rig_say("DELETED", "c", "6");
    admin_stream_rig_say("MODIFIED", "a", "7");
    admin_stream_rig_say("ADDED", "d", "8");
    assert_int_equal(admin_stream_pull(admin_stream_rig.stream, &admin_stream_rig.out, 1),
                     ADMIN_STREAM_MORE);
    assert_string_equal(admin_stream_rig_sum_up(), "ADDED b;");
    admin_stream_rig_say("DELETED", "d", "9");
    admin_stream_rig_expect(ADMIN_STREAM_EMPTY,
                            "ADDED c;SYNCED ;DELETED c;MODIFIED a;ADDED d;DELETED d;");
    assert_int_equal(admin_stream_rig.woken, 0); /* the reader did not have to be woken */
}

static void test_nothing_before_the_source_is_synced(void **state)
{
    (void)state;
    admin_stream_rig_follow("w");
    admin_stream_rig_expect(ADMIN_STREAM_EMPTY, "");
    admin_streams_synced(admin_stream_rig.hub);
    assert_int_equal(admin_stream_rig.woken, 0);
    admin_stream_rig_sync((const char *const[]){"a", NULL}, "5");
    admin_stream_rig_expect(ADMIN_STREAM_EMPTY, "");
    admin_streams_synced(admin_stream_rig.hub);
    assert_int_equal(admin_stream_rig.woken, 1);
    admin_streams_synced(admin_stream_rig.hub);
    assert_int_equal(admin_stream_rig.woken, 1);
    admin_stream_rig_expect(ADMIN_STREAM_EMPTY, "ADDED a;SYNCED ;");
}

static void test_ready_comes_once_after_empty(void **state)
{
    (void)state;
    admin_stream_rig_sync((const char *const[]){NULL}, "5");
    admin_stream_rig_follow("w");
    admin_stream_rig_say("ADDED", "a", "6");
    assert_int_equal(admin_stream_rig.woken, 0);
    admin_stream_rig_expect(ADMIN_STREAM_EMPTY, "SYNCED ;ADDED a;");
    admin_stream_rig_say("MODIFIED", "a", "7");
    admin_stream_rig_say("MODIFIED", "a", "8");
    assert_int_equal(admin_stream_rig.woken, 1);
    admin_stream_rig_expect(ADMIN_STREAM_EMPTY, "MODIFIED a;MODIFIED a;");
    admin_stream_rig_say("MODIFIED", "a", "9");
    assert_int_equal(admin_stream_rig.woken, 2);
}

static void test_stale_and_fresh_are_lines(void **state)
{
    (void)state;
    admin_stream_rig_sync((const char *const[]){NULL}, "5");
    admin_stream_rig_follow("w");
    admin_stream_rig_expect(ADMIN_STREAM_EMPTY, "SYNCED ;");
    admin_stream_rig_stale(true);
    assert_int_equal(admin_stream_rig.woken, 1);
    admin_stream_rig_stale(false);
    assert_int_equal(
        admin_stream_pull(admin_stream_rig.stream, &admin_stream_rig.out, ADMIN_STREAM_RIG_PIECE),
        ADMIN_STREAM_EMPTY);
    assert_non_null(strstr(buf_cstr(&admin_stream_rig.out),
                           "{\"type\":\"STALE\",\"cause\":\"watch\",\"cluster\":\"c\","
                           "\"source\":\"w\",\"api_version\":null,"));
    assert_non_null(strstr(buf_cstr(&admin_stream_rig.out), "\"object\":null}\n"));
    assert_string_equal(admin_stream_rig_sum_up(), "STALE ;FRESH ;");
}

static void test_a_stream_begins_with_stale_if_the_source_is_stale(void **state)
{
    (void)state;
    admin_stream_rig_sync((const char *const[]){NULL}, "5");
    admin_stream_rig.now.ms += 40000; /* no watch request has ever been answered */
    watch_tick(admin_stream_rig.watch, admin_stream_rig.now);
    admin_stream_rig_follow("w");
    assert_int_equal(
        admin_stream_pull(admin_stream_rig.stream, &admin_stream_rig.out, ADMIN_STREAM_RIG_PIECE),
        ADMIN_STREAM_EMPTY);
    assert_non_null(strstr(buf_cstr(&admin_stream_rig.out), "\"objects\":0,\"stale\":true}\n"));
}

/* The status would say stale already. A client of the stream hears it once. */
static void test_a_stream_that_begins_before_stale_is_told_has_a_line_for_it(void **state)
{
    (void)state;
    admin_stream_rig_sync((const char *const[]){NULL}, "5");
    admin_stream_rig.now.ms += 40000;
    admin_stream_rig_follow("w");
    watch_tick(admin_stream_rig.watch, admin_stream_rig.now);
    assert_int_equal(
        admin_stream_pull(admin_stream_rig.stream, &admin_stream_rig.out, ADMIN_STREAM_RIG_PIECE),
        ADMIN_STREAM_EMPTY);
    assert_non_null(strstr(buf_cstr(&admin_stream_rig.out), "\"objects\":0,\"stale\":false}\n"));
    assert_string_equal(admin_stream_rig_sum_up(), "SYNCED ;STALE ;");
}

/* A stream may begin with objects that an earlier process has left, and is stale then. */
static void test_a_stream_begins_with_stale_if_the_source_begins_stale(void **state)
{
    (void)state;
    admin_stream_rig_follow("w");
    admin_stream_rig_stale(true);
    admin_stream_rig_expect(ADMIN_STREAM_EMPTY, "");
    admin_stream_rig_sync((const char *const[]){NULL}, "5");
    admin_streams_synced(admin_stream_rig.hub);
    assert_int_equal(
        admin_stream_pull(admin_stream_rig.stream, &admin_stream_rig.out, ADMIN_STREAM_RIG_PIECE),
        ADMIN_STREAM_EMPTY);
    assert_non_null(strstr(buf_cstr(&admin_stream_rig.out), "\"objects\":0,\"stale\":true}\n"));
    assert_string_equal(admin_stream_rig_sum_up(), "SYNCED ;");
    admin_stream_rig_stale(false);
    admin_stream_rig_expect(ADMIN_STREAM_EMPTY, "FRESH ;");
}

static void test_events_of_another_watch_do_not_come(void **state)
{
    struct object *o = objects_make("a/x", "u", "1", NULL);
    const struct delta d = {.type = DELTA_ADDED, .object = o, .received_ns = 1};
    struct watch *other = objects_watch("other", NULL, NULL);
    const struct subscriber *streams = &admin_streams_subscriber;

    (void)state;
    admin_stream_rig_sync((const char *const[]){NULL}, "5");
    admin_stream_rig_follow("w");
    admin_stream_rig_expect(ADMIN_STREAM_EMPTY, "SYNCED ;");
    streams->on_delta(admin_stream_rig.hub, (struct source){.watch = other}, &d);
    streams->on_stale(admin_stream_rig.hub, (struct source){.watch = other}, true,
                      admin_stream_rig.now);
    assert_int_equal(admin_stream_rig.woken, 0);
    admin_stream_rig_expect(ADMIN_STREAM_EMPTY, "");
    object_unref(&o);
    watch_destroy(&other);
}

/* ---- Lines */

static void test_an_object_on_many_lines_becomes_one_line(void **state)
{
    struct object *o = objects_make("a/x", "u", "1", "\r\n\"k\" :\n\t\"1\\n2\"\n");
    const struct delta d = {.type = DELTA_ADDED, .object = o, .received_ns = 1};

    (void)state;
    admin_stream_rig_sync((const char *const[]){NULL}, "5");
    admin_stream_rig_follow("w");
    admin_stream_rig_delta(&d);
    assert_int_equal(
        admin_stream_pull(admin_stream_rig.stream, &admin_stream_rig.out, ADMIN_STREAM_RIG_PIECE),
        ADMIN_STREAM_EMPTY);
    assert_non_null(strstr(buf_cstr(&admin_stream_rig.out), "{  \"k\" : \t\"1\\n2\" }"));
    assert_null(strchr(buf_cstr(&admin_stream_rig.out), '\r'));
    assert_string_equal(admin_stream_rig_sum_up(), "SYNCED ;ADDED x;");
    object_unref(&o);
}

static void test_pieces_are_as_large_as_asked(void **state)
{
    (void)state;
    admin_stream_rig_sync_many(1000, "u", "5");
    admin_stream_rig_follow("w");
    for (size_t told = 0; told < 1000;) {
        buf_clear(&admin_stream_rig.out);
        assert_int_equal(admin_stream_pull(admin_stream_rig.stream, &admin_stream_rig.out, 4000),
                         ADMIN_STREAM_MORE);
        assert_in_range(admin_stream_rig.out.len, 4000, 4500);
        told += admin_stream_rig_lines();
        if (told + 20 > 1000)
            break;
    }
    assert_int_equal(admin_stream_rig_pull_all(), ADMIN_STREAM_EMPTY);
}

#define ADMIN_STREAM_RIG(test) \
    cmocka_unit_test_setup_teardown(test, admin_stream_rig_set_up, admin_stream_rig_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ADMIN_STREAM_RIG(test_objects_then_a_sync_line_then_changes),
        ADMIN_STREAM_RIG(test_a_source_without_objects),
        ADMIN_STREAM_RIG(test_lines_have_the_name_that_the_reader_asked_for),
        ADMIN_STREAM_RIG(test_changes_while_the_objects_are_sent),
        ADMIN_STREAM_RIG(test_nothing_before_the_source_is_synced),
        ADMIN_STREAM_RIG(test_ready_comes_once_after_empty),
        ADMIN_STREAM_RIG(test_stale_and_fresh_are_lines),
        ADMIN_STREAM_RIG(test_a_stream_begins_with_stale_if_the_source_is_stale),
        ADMIN_STREAM_RIG(test_a_stream_that_begins_before_stale_is_told_has_a_line_for_it),
        ADMIN_STREAM_RIG(test_a_stream_begins_with_stale_if_the_source_begins_stale),
        ADMIN_STREAM_RIG(test_events_of_another_watch_do_not_come),
        ADMIN_STREAM_RIG(test_an_object_on_many_lines_becomes_one_line),
        ADMIN_STREAM_RIG(test_pieces_are_as_large_as_asked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
