/* SPDX-License-Identifier: Apache-2.0 */
/* cache/list_watch: streaming lists (docs/kubernetes-protocol.md "Streaming lists"), their bodies
 * cut anywhere. */
#include "identified.h"
#include "list_watch_script.h"

#include <string.h>

static const struct list_watch_script_setup always = {.watch_list = WATCH_LIST_ON};
static const struct list_watch_script_setup later = {.watch_list = WATCH_LIST_AUTO};

#define OK    .code = 200
#define BRIEF .code = 200, .brief = true
#define CHECK(setup, ...)                                               \
    do {                                                                \
        static const struct answer answers[] = {__VA_ARGS__};           \
        list_watch_script_check(&(setup), answers, ARRAY_LEN(answers)); \
    } while (0)
#define A_AND_B EVENT("ADDED", "a", "u1", "3") EVENT("ADDED", "b", "u2", "4")
#define BOTH    "+ns/a:u1:3 +ns/b:u2:4"

static void test_s65_initial_events_are_committed_together_and_the_stream_goes_on(void **state)
{
    (void)state;
    CHECK(always,
          {OK, .body = A_AND_B INITIAL_END("10") EVENT("MODIFIED", "a", "u1", "11"),
           .heard = BOTH " ~ns/a:u1:11", .next = WATCH("11")},
          {OK, .body = EVENT("DELETED", "a", "u1", "12"), .heard = "-ns/a:u1:12",
           .next = WATCH("12")});
}

static void test_a_streaming_list_may_be_empty(void **state)
{
    (void)state;
    CHECK(always, {OK, .body = INITIAL_END("10"), .next = WATCH("10")});
}

static void test_s64_no_delta_comes_before_the_end_of_the_initial_events(void **state)
{
    (void)state;
    CHECK(always, {OK, .body = A_AND_B BOOKMARK("10"), .next = STREAM});
}

static void test_an_annotation_other_than_true_is_an_ordinary_bookmark(void **state)
{
    (void)state;
    CHECK(always, {OK,
                   .body = A_AND_B "{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"ConfigMap\","
                                   "\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"9\","
                                   "\"annotations\":{\"k8s.io/initial-events-end\":\"false\"}}}}",
                   .next = STREAM});
}

static void test_s67_the_final_set_counts(void **state)
{
    (void)state;
    CHECK(always,
          {OK,
           .body = A_AND_B EVENT("MODIFIED", "a", "u1", "5") EVENT("DELETED", "b", "u2", "6")
               EVENT("DELETED", "never", "u7", "7") INITIAL_END("10"),
           .heard = "+ns/a:u1:5", .next = WATCH("10")});
}

static void test_s68_invalid_falls_back_to_a_list_in_the_same_cycle(void **state)
{
    (void)state;
    CHECK(always,
          {.code = 422,
           .body = STATUS("422", "Invalid", "sendInitialEvents is forbidden for watch"),
           .next = LIST_ZERO},
          SYNCED);
    CHECK(always, {OK, .body = ERROR_EVENT("500", "InternalError", "x"), .next = LIST_ZERO},
          SYNCED);
    CHECK(always, {.code = 403, .body = STATUS("403", "Forbidden", "x"), .next = LIST_ZERO},
          SYNCED);
    CHECK(always, {OK, .body = A_AND_B "{\"oops", .next = STREAM});
    CHECK(always, {OK, .body = A_AND_B "oops", .next = LIST_ZERO}, SYNCED);
}

static void test_s69_busy_waits_and_streams(void **state)
{
    (void)state;
    CHECK(always,
          {.code = 429, .type = "text/plain", .body = "slow down", .next = "WAIT 800, " STREAM},
          {OK, .body = ERROR_EVENT("429", "TooManyRequests", "x"), .next = "WAIT 1600, " STREAM},
          {.cut_off = ERR_REFUSED, .next = "WAIT 3200, " STREAM},
          {OK, .body = A_AND_B INITIAL_END("10"), .heard = BOTH, .next = WATCH("10")});
}

static void test_s70_a_stream_that_ends_early_drops_its_events(void **state)
{
    (void)state;
    CHECK(always, {OK, .body = A_AND_B, .next = STREAM},
          {OK, .body = EVENT("ADDED", "b", "u2", "4"), .cut_off = ERR_CLOSED, .next = STREAM},
          {OK, .body = EVENT("ADDED", "c", "u3", "5") INITIAL_END("10"), .heard = "+ns/c:u3:5",
           .next = WATCH("10")});
}

static void test_a_very_short_stream_falls_back_to_a_list(void **state)
{
    (void)state;
    CHECK(always, {BRIEF, .body = "", .next = LIST_ZERO}, SYNCED);
}

static void test_a_stream_that_is_too_slow_falls_back_to_a_list(void **state)
{
    (void)state;
    CHECK(always, {OK, .body = A_AND_B, .cut_off = ERR_TIMEOUT, .next = LIST_ZERO}, SYNCED);
    CHECK(always, {OK, .body = A_AND_B INITIAL_END("10"), .cut_off = ERR_TIMEOUT, .heard = BOTH,
                   .next = WATCH("10")}); /* the list is complete: the request is a watch by then */
}

static void test_three_broken_streams_fall_back_to_a_list(void **state)
{
    (void)state;
    CHECK(always, {BRIEF, .body = A_AND_B, .next = STREAM},
          {BRIEF, .body = A_AND_B, .next = STREAM}, {BRIEF, .body = A_AND_B, .next = LIST_ZERO},
          SYNCED);
}

static void test_s71_s72_a_relist_streams_from_the_last_version_then_without(void **state)
{
    (void)state;
    CHECK(later, SYNCED,
          {OK, .body = BOOKMARK("20") ERROR_EVENT("410", "Expired", "x"),
           .next = "WAIT 800, " STREAM_FROM("20")},
          {OK, .body = ERROR_EVENT("410", "Expired", "x"), .next = STREAM},
          {OK, .body = EVENT("ADDED", "b", "u2", "25") INITIAL_END("30"),
           .heard = "-ns/a:u1:3? ~ns/b:u2:25", .next = WATCH("30")});
}

static void test_initial_events_of_another_kind_are_skipped(void **state)
{
    (void)state;
    CHECK(always,
          {OK, .body = EVENT_OF("ADDED", "Secret", "s", "u8", "11", "") A_AND_B INITIAL_END("10"),
           .heard = BOTH, .next = WATCH("10")});
}

/* As an item over object_size in a list. */
static void test_an_initial_event_that_is_skipped_deletes_nothing(void **state)
{
    (void)state;
    CHECK(later, SYNCED,
          {OK, .body = BOOKMARK("20") ERROR_EVENT("410", "Expired", "x"),
           .next = "WAIT 800, " STREAM_FROM("20")},
          {OK,
           .body = EVENT_OF("ADDED", "Secret", "a", "u1", "21", "")
               EVENT_OF("ADDED", "Secret", "new", "u8", "22", "") INITIAL_END("30"),
           .heard = "-ns/b:u2:4?", .next = WATCH("30")});
}

static void test_an_initial_end_is_not_skipped(void **state)
{
    struct buf body = {0};
    struct buf pad = {0};

    (void)state;
    buf_printf(&pad, "\"x\":\"%05000d\"", 0);
    buf_puts(&body, A_AND_B EVENT("ADDED", "c", "u3", "5"));
    buf_printf(&body, EVENT_OF("DELETED", "ConfigMap", "c", "u3", "6", "%s") INITIAL_END("10"),
               buf_cstr(&pad));
    struct answer answers[] = {
        {OK, .body = buf_cstr(&body), .heard = BOTH, .next = WATCH("10")}
    };
    list_watch_script_check(&always, answers, 1);
    buf_free(&body);
    buf_free(&pad);
}

static void test_html_is_no_stream(void **state)
{
    (void)state;
    CHECK(always, {OK, .type = "text/html", .body = "<html>", .next = LIST_ZERO});
}

/* ---- Silence of the initial events. */

static struct list_watch_script script;

static int begin_to_stream(void **state)
{
    (void)state;
    list_watch_script_init(&script, &always);
    assert_int_equal(script.action.what, LW_STREAM);
    assert_int_equal(list_watch_due_ms(script.list_watch), UINT64_MAX); /* no head yet */
    list_watch_script_head(&script);
    return 0;
}

static int end(void **state)
{
    (void)state;
    list_watch_script_fini(&script);
    return 0;
}

static void test_s64_a_pause_is_worth_a_warning_not_an_end(void **state)
{
    (void)state;
    assert_int_equal(list_watch_due_ms(script.list_watch), script.now.ms + 10000);
    for (uint64_t s = 10; s < 60; s += 10) {
        assert_int_equal(list_watch_due_ms(script.list_watch), script.now.ms + s * 1000);
        assert_false(list_watch_overdue(script.list_watch, script.now.ms + s * 1000));
    }
    script.now.ms += 55000;
    list_watch_script_body(&script, EVENT("ADDED", "a", "u1", "3"));
    assert_int_equal(list_watch_due_ms(script.list_watch), script.now.ms + 10000);
}

static void test_initial_events_that_stop_coming_end_the_stream(void **state)
{
    (void)state;
    list_watch_script_body(&script, EVENT("ADDED", "a", "u1", "3"));
    script.now.ms += 60000;
    assert_true(list_watch_overdue(script.list_watch, script.now.ms));
    struct list_watch_action a = list_watch_end_identified(script.list_watch, NULL, script.now);
    assert_int_equal(a.what, LW_LIST);
    assert_int_equal(list_watch_status(script.list_watch).err->kind, ERR_TIMEOUT);
    assert_non_null(strstr(list_watch_status(script.list_watch).err->text, "60 s"));
    assert_int_equal(store_count(script.store), 0);
}

static void test_the_watch_behind_the_initial_events_may_be_silent(void **state)
{
    (void)state;
    assert_false(list_watch_status(script.list_watch).connected);
    list_watch_script_body(&script, INITIAL_END("10"));
    assert_true(list_watch_status(script.list_watch).connected);
    assert_true(list_watch_status(script.list_watch).synced);
    assert_int_equal(list_watch_status(script.list_watch).follow_ms, script.now.ms);
    assert_int_equal(list_watch_due_ms(script.list_watch), UINT64_MAX);
    list_watch_script_body(&script, BOOKMARK("11"));
    assert_int_equal(list_watch_due_ms(script.list_watch), script.now.ms + 150000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_s65_initial_events_are_committed_together_and_the_stream_goes_on),
        cmocka_unit_test(test_a_streaming_list_may_be_empty),
        cmocka_unit_test(test_s64_no_delta_comes_before_the_end_of_the_initial_events),
        cmocka_unit_test(test_an_annotation_other_than_true_is_an_ordinary_bookmark),
        cmocka_unit_test(test_s67_the_final_set_counts),
        cmocka_unit_test(test_s68_invalid_falls_back_to_a_list_in_the_same_cycle),
        cmocka_unit_test(test_s69_busy_waits_and_streams),
        cmocka_unit_test(test_s70_a_stream_that_ends_early_drops_its_events),
        cmocka_unit_test(test_a_very_short_stream_falls_back_to_a_list),
        cmocka_unit_test(test_a_stream_that_is_too_slow_falls_back_to_a_list),
        cmocka_unit_test(test_three_broken_streams_fall_back_to_a_list),
        cmocka_unit_test(test_s71_s72_a_relist_streams_from_the_last_version_then_without),
        cmocka_unit_test(test_initial_events_of_another_kind_are_skipped),
        cmocka_unit_test(test_an_initial_event_that_is_skipped_deletes_nothing),
        cmocka_unit_test(test_an_initial_end_is_not_skipped),
        cmocka_unit_test(test_html_is_no_stream),
        cmocka_unit_test_setup_teardown(test_s64_a_pause_is_worth_a_warning_not_an_end,
                                        begin_to_stream, end),
        cmocka_unit_test_setup_teardown(test_initial_events_that_stop_coming_end_the_stream,
                                        begin_to_stream, end),
        cmocka_unit_test_setup_teardown(test_the_watch_behind_the_initial_events_may_be_silent,
                                        begin_to_stream, end),
    };

    return cmocka_run_group_tests(tests, list_watch_script_be_quiet, NULL);
}
