/* SPDX-License-Identifier: Apache-2.0 */
/* cache/list_watch: conversations of lists and watches, their bodies cut anywhere;
 * test_list_watch_*.c have more. */
#include "list_watch_script.h"

#include <string.h>

static const struct list_watch_script_setup plain = {.watch_list = WATCH_LIST_OFF};

#define OK .code = 200
#define CHECK(...)                                                    \
    do {                                                              \
        static const struct answer answers[] = {__VA_ARGS__};         \
        list_watch_script_check(&plain, answers, ARRAY_LEN(answers)); \
    } while (0)

static void test_s1_s21_a_list_then_events_then_the_watch_again(void **state)
{
    (void)state;
    CHECK(SYNCED,
          {OK,
           .body = EVENT("MODIFIED", "a", "u1", "11") EVENT("ADDED", "c", "u3", "12")
               EVENT("DELETED", "b", "u2", "13") BOOKMARK("20"),
           .heard = "~ns/a:u1:11 +ns/c:u3:12 -ns/b:u2:13", .next = WATCH("20")},
          {OK, .body = "", .next = WATCH("20")},
          {OK, .body = EVENT("ADDED", "a", "u9", "21") EVENT("ADDED", "a", "u9", "21"),
           .heard = "-ns/a:u1:11? +ns/a:u9:21", .next = WATCH("21")});
}

static void test_an_empty_list_is_a_list(void **state)
{
    (void)state;
    CHECK({OK, .body = PAGE("10", "", ""), .next = WATCH("10")});
    CHECK({OK,
           .body = "{\"kind\":\"ConfigMapList\",\"apiVersion\":\"v1\",\"metadata\":{"
                   "\"resourceVersion\":\"10\"},\"items\":null}",
           .next = WATCH("10")});
}

static void test_s3_pages_are_committed_together(void **state)
{
    (void)state;
    CHECK({OK, .body = PAGE("10", "t/1=", ITEM("a", "u1", "3", "")), .next = LIST_NEXT("t%2F1%3D")},
          {OK, .body = PAGE("11", "t2", ITEM("b", "u2", "4", "")), .next = LIST_NEXT("t2")},
          {OK, .body = PAGE("12", "", ITEM("c", "u3", "5", "")),
           .heard = "+ns/a:u1:3 +ns/b:u2:4 +ns/c:u3:5", .next = WATCH("10")});
}

static void test_items_before_metadata(void **state)
{
    (void)state;
    CHECK(
        {OK,
         .body = "{\"apiVersion\":\"v1\",\"items\":[" ITEM(
             "a", "u1", "3",
             "") "],\"kind\":"
                 "\"ConfigMapList\",\"metadata\":{\"continue\":\"t\",\"resourceVersion\":\"10\"}}",
         .next = LIST_NEXT("t")},
        {OK,
         .body = "{\"apiVersion\":\"v1\",\"items\":[" ITEM(
             "b", "u2", "3",
             "") "],\"kind\":"
                 "\"ConfigMapList\",\"metadata\":{\"continue\":\"\",\"resourceVersion\":\"10\"}}",
         .heard = "+ns/a:u1:3 +ns/b:u2:3", .next = WATCH("10")});
}

static void test_s34_s35_s51_a_relist_reports_the_differences_only(void **state)
{
    (void)state;
    CHECK(SYNCED,
          {OK, .body = EVENT("MODIFIED", "a", "u1", "11") ERROR_EVENT("410", "Expired", "too old"),
           .heard = "~ns/a:u1:11", .next = "WAIT 800, " LIST_FROM("11")},
          {OK,
           .body = PAGE("30", "",
                        ITEM("d", "u4", "29", "") "," ITEM("a", "u1", "11", "") "," ITEM("c", "u3",
                                                                                         "28", "")),
           .heard = "-ns/b:u2:4? +ns/d:u4:29 +ns/c:u3:28", .next = WATCH("30")});
}

static void test_s8_an_expired_page_drops_what_was_staged(void **state)
{
    (void)state;
    CHECK({OK, .body = PAGE("10", "t", ITEM("a", "u1", "3", "")), .next = LIST_NEXT("t")},
          {.code = 410,
           .body = STATUS("410", "Expired", "The provided continue parameter is too old"),
           .next = LIST_FROM("0")},
          {OK, .body = PAGE("12", "", ITEM("b", "u2", "4", "")), .heard = "+ns/b:u2:4",
           .next = WATCH("12")});
}

/* A server that was restored from a backup may give a version out again for another state: a list
 * that was asked for without a version is compared by bytes. */
static void test_a_list_of_the_newest_state_is_compared_by_bytes(void **state)
{
    (void)state;
    CHECK(SYNCED,
          {OK, .body = ERROR_EVENT("410", "Expired", "x"), .next = "WAIT 800, " LIST_FROM("10")},
          {OK,
           .body = PAGE("10", "", ITEM("a", "u1", "3", "\"x\":\"1\"") "," ITEM("b", "u2", "4", "")),
           .next = WATCH("10")},
          {OK, .body = ERROR_EVENT("410", "Expired", "x"), .next = "WAIT 1600, " LIST_FROM("10")},
          {.code = 410, .body = STATUS("410", "Expired", "x"), .next = LIST_NEWEST},
          {OK,
           .body = PAGE("10", "", ITEM("a", "u1", "3", "\"x\":\"1\"") "," ITEM("b", "u2", "4", "")),
           .heard = "~ns/a:u1:3", .next = WATCH("10")});
}

static void test_s9_s18_a_version_that_the_server_refuses_is_left_out(void **state)
{
    (void)state;
    CHECK(SYNCED,
          {OK, .body = ERROR_EVENT("500", "InternalError", "x"),
           .next = "WAIT 800, " LIST_FROM("10")},
          {.code = 504,
           .retry_after_s = 1,
           .body = "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\",\"message\":"
                   "\"Timeout: Too large resource version: 10, current: 4\",\"reason\":\"Timeout\","
                   "\"details\":{\"causes\":[{\"reason\":\"ResourceVersionTooLarge\",\"message\":"
                   "\"Too large resource version\"}],\"retryAfterSeconds\":1},\"code\":504}",
           .next = LIST_NEWEST},
          {OK, .body = PAGE("4", "t", ""), .next = LIST_NEXT("t")},
          {.code = 410, .body = STATUS("410", "Expired", "x"), .next = LIST_ALL},
          {OK, .body = PAGE("4", "", ITEM("a", "u1", "3", "")), .next = HELD LIST_NEWEST},
          {OK, .body = PAGE("5", "", ITEM("a", "u1", "3", "")), .heard = "-ns/b:u2:4?",
           .next = WATCH("5")});
}

static void test_s2_a_list_that_is_cut_off_changes_nothing(void **state)
{
    (void)state;
    CHECK(SYNCED,
          {OK, .body = ERROR_EVENT("504", "Timeout", "x"), .next = "WAIT 800, " LIST_FROM("10")},
          {OK,
           .body = "{\"kind\":\"ConfigMapList\",\"apiVersion\":\"v1\",\"metadata\":{"
                   "\"resourceVersion\":\"12\"},\"items\":[" ITEM("z", "u8", "11", ""),
           .cut_off = ERR_CLOSED, .next = "WAIT 1600, " LIST_FROM("10")},
          {OK,
           .body = "{\"kind\":\"ConfigMapList\",\"apiVersion\":\"v1\",\"metadata\":{"
                   "\"resourceVersion\":\"12\"},\"items\":[" ITEM("z", "u8", "11", ""),
           .next = "WAIT 3200, " LIST_FROM("10")},
          {.cut_off = ERR_REFUSED, .next = "WAIT 6400, " LIST_FROM("10")},
          {OK, .body = PAGE("12", "", ITEM("a", "u1", "3", "") "," ITEM("b", "u2", "4", "")),
           .next = WATCH("12")});
}

static void test_a_watch_that_does_not_start_keeps_its_version(void **state)
{
    (void)state;
    CHECK(
        SYNCED, {.cut_off = ERR_REFUSED, .next = "WAIT 800, " WATCH("10")},
        {.code = 429,
         .type = "text/plain",
         .retry_after_s = 7,
         .body = "Too many requests, please try again later.\n",
         .next = "WAIT 7000, " WATCH("10")},
        {.code = 403, .body = STATUS("403", "Forbidden", "no"), .next = "WAIT 3200, " WATCH("10")},
        {.code = 401,
         .body = STATUS("401", "Unauthorized", "no"),
         .next = "WAIT 6400, " WATCH("10")},
        {.code = 404,
         .type = "text/plain",
         .body = "404 page not found\n",
         .next = "WAIT 12800, " LIST_FROM("10")});
}

static void test_bodies_of_errors_may_be_anything(void **state)
{
    (void)state;
    CHECK({.code = 502,
           .type = "text/html",
           .body = "<html><body>Bad gateway</body></html>",
           .next = "WAIT 800, " LIST_ZERO},
          {.code = 500, .body = "", .next = "WAIT 1600, " LIST_ZERO},
          {.code = 503, .retry_after_s = 4, .body = "{\"broken", .next = "WAIT 4000, " LIST_ZERO},
          {.code = 302, .type = "text/html", .body = "", .next = "WAIT 6400, " LIST_ZERO},
          {.code = 500,
           .body = STATUS("500", "InternalError", "x"),
           .cut_off = ERR_CLOSED,
           .next = "WAIT 12800, " LIST_ZERO});
}

static void test_a_retry_after_without_measure_is_bounded(void **state)
{
    (void)state;
    CHECK({.code = 503, .retry_after_s = 86400, .body = "", .next = "WAIT 300000, " LIST_ZERO},
          {.code = 429, .retry_after_s = INT64_MAX, .body = "", .next = "WAIT 300000, " LIST_ZERO});
}

static void test_html_with_200_is_no_answer(void **state)
{
    (void)state;
    CHECK({OK, .type = "text/html", .body = "<html>Please log in</html>",
           .next = "WAIT 800, " LIST_ZERO},
          {OK, .type = "text/html", .body = "", .next = "WAIT 1600, " LIST_ZERO},
          {OK, .type = "", .body = "<html>Please log in</html>", .next = "WAIT 3200, " LIST_ZERO},
          SYNCED,
          {OK, .type = "text/html", .body = "<html>Please log in</html>",
           .next = "WAIT 6400, " LIST_FROM("10")});
}

static void test_s24_half_a_frame_at_the_end_is_not_an_event(void **state)
{
    (void)state;
    CHECK(SYNCED,
          {OK, .body = EVENT("MODIFIED", "a", "u1", "11") "{\"type\":\"DELETED\",\"object\":{\"ki",
           .heard = "~ns/a:u1:11", .next = WATCH("11")},
          {OK, .body = "{\"type\":\"DEL", .cut_off = ERR_CLOSED, .next = WATCH("11")},
          {OK, .body = BOOKMARK("12"), .cut_off = ERR_TIMEOUT, .next = WATCH("12")});
}

/* As an ERROR would: a LIST if nobody knows what the bytes were worth, none if TLS has kept them
 * out. */
static void test_a_watch_that_is_spoilt_waits(void **state)
{
    (void)state;
    CHECK(SYNCED, {OK, .body = EVENT("MODIFIED", "a", "u1", "11"), .cut_off = ERR_PROTOCOL,
                   .heard = "~ns/a:u1:11", .next = "WAIT 800, " LIST_FROM("11")});
    CHECK(SYNCED, {OK, .body = EVENT("MODIFIED", "a", "u1", "11"), .cut_off = ERR_TOO_BIG,
                   .heard = "~ns/a:u1:11", .next = "WAIT 800, " LIST_FROM("11")});
    CHECK(SYNCED, {OK, .body = EVENT("MODIFIED", "a", "u1", "11"), .cut_off = ERR_TLS,
                   .heard = "~ns/a:u1:11", .next = "WAIT 800, " WATCH("11")});
}

static void test_s23_broken_frames_end_the_watch_and_list(void **state)
{
    (void)state;
    CHECK(SYNCED,
          {OK, .body = EVENT("MODIFIED", "a", "u1", "11") "{\"type\":\"ADDED\",oops}",
           .heard = "~ns/a:u1:11", .next = "WAIT 800, " LIST_FROM("11")},
          {OK, .body = PAGE("12", "", ITEM("a", "u1", "11", "") "," ITEM("b", "u2", "4", "")),
           .next = WATCH("12")},
          {OK, .body = EVENT("CHANGED", "a", "u1", "13"), .next = "WAIT 1600, " LIST_FROM("12")},
          {OK, .body = PAGE("12", "", ITEM("a", "u1", "11", "") "," ITEM("b", "u2", "4", "")),
           .next = WATCH("12")},
          {OK, .body = "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Pod\"}}",
           .next = "WAIT 3200, " LIST_FROM("12")});
}

static void test_s45_busy_in_an_error_event_waits_and_watches(void **state)
{
    (void)state;
    CHECK(SYNCED,
          {OK, .body = BOOKMARK("15") ERROR_EVENT("429", "TooManyRequests", "x"),
           .next = "WAIT 800, " WATCH("15")},
          {OK,
           .body = "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"status\":\"Failure\","
                   "\"reason\":\"TooManyRequests\",\"code\":429,\"details\":{"
                   "\"retryAfterSeconds\":9}}}",
           .next = "WAIT 9000, " WATCH("15")},
          {OK, .body = ERROR_EVENT("504", "Timeout", "x"), .next = "WAIT 3200, " LIST_FROM("15")});
}

static void test_s20_events_of_another_kind_are_skipped_and_keep_the_version(void **state)
{
    (void)state;
    CHECK(SYNCED, {OK,
                   .body = EVENT_OF("ADDED", "Secret", "s", "u8", "11", "")
                       EVENT_OF("MODIFIED", "Secret", "a", "u1", "12", ""),
                   .next = WATCH("10")});
}

static void test_s20_events_without_a_name_are_skipped_and_move_the_version(void **state)
{
    (void)state;
    CHECK(SYNCED, {OK,
                   .body = EVENT_OF("ADDED", "ConfigMap", "", "u8", "11", "")
                       EVENT_OF("MODIFIED", "ConfigMap", "", "u8", "12", ""),
                   .next = WATCH("12")});
}

static void test_events_without_a_version_are_skipped_except_ends(void **state)
{
    (void)state;
    CHECK(SYNCED, {OK,
                   .body = EVENT("ADDED", "n", "u8", "") EVENT("MODIFIED", "a", "u1", "")
                       EVENT("DELETED", "b", "u2", ""),
                   .heard = "-ns/b:u2:", .next = WATCH("10")});
}

static void test_lists_of_another_kind_are_refused(void **state)
{
    (void)state;
    CHECK({OK,
           .body = "{\"kind\":\"SecretList\",\"apiVersion\":\"v1\",\"metadata\":{"
                   "\"resourceVersion\":\"1\"},\"items\":[]}",
           .next = "WAIT 800, " LIST_ZERO},
          {OK,
           .body = "{\"kind\":\"Table\",\"apiVersion\":\"meta.k8s.io/v1\",\"metadata\":{"
                   "\"resourceVersion\":\"1\"},\"rows\":[]}",
           .next = "WAIT 1600, " LIST_ZERO},
          {OK, .body = "{\"kind\":\"ConfigMapList\",\"apiVersion\":\"v1\"}",
           .next = "WAIT 3200, " LIST_ZERO},
          {OK, .body = "", .next = "WAIT 6400, " LIST_ZERO});
}

#define DATA_100                                         \
    "\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\":" \
    "\"yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy\""
#define TOO_BIG DATA_100 "," DATA_100 "," DATA_100 "," DATA_100 "," DATA_100

static void test_an_item_that_is_too_big_keeps_its_old_state(void **state)
{
    (void)state;
    CHECK(SYNCED,
          {OK, .body = ERROR_EVENT("500", "InternalError", "x"),
           .next = "WAIT 800, " LIST_FROM("10")},
          {OK,
           .body = PAGE("12", "", ITEM("a", "u1", "11", TOO_BIG) "," ITEM("n", "u7", "9", TOO_BIG)),
           .heard = "-ns/b:u2:4?", .next = WATCH("12")},
          {OK, .body = EVENT("DELETED", "a", "u1", "13"), .heard = "-ns/a:u1:13",
           .next = WATCH("13")});
}

/* Versions and tokens become C strings: a NUL must not cut one off, nor make it look absent. */
static void test_a_nul_in_a_version_or_token_is_a_broken_list(void **state)
{
    (void)state;
    CHECK({OK, .body = PAGE("\\u0000", "", ""), .next = "WAIT 800, " LIST_ZERO},
          {OK, .body = PAGE("1\\u00002", "", ""), .next = "WAIT 1600, " LIST_ZERO},
          {OK, .body = PAGE("1", "\\u0000", ""), .next = "WAIT 3200, " LIST_ZERO});
}

/* A frame over object_size and 4 KiB. */
static void check_oversize_frame(const char *fill, const char *next)
{
    struct buf body = {0};
    struct answer answers[] = {
        SYNCED, {OK, .heard = "~ns/a:u1:11", .next = next}
    };

    buf_puts(&body, EVENT("MODIFIED", "a", "u1", "11") "{\"type\":\"ADDED\",\"object\":");
    for (size_t i = 0; i < 5000 / strlen(fill); i++)
        buf_puts(&body, fill);
    answers[1].body = buf_cstr(&body);
    list_watch_script_check(&plain, answers, 2);
    buf_free(&body);
}

static void test_a_frame_without_end_ends_the_stream(void **state)
{
    (void)state;
    check_oversize_frame(" ", "WAIT 800, " LIST_FROM("11"));
    check_oversize_frame("[", "WAIT 800, " LIST_FROM("11"));
    check_oversize_frame("{\"a\":", WATCH("11")); /* cut off, in an object that is skipped */
}

#define UNNAMED "{\"metadata\":{\"uid\":\"u9\",\"resourceVersion\":\"9\"}}"

static void test_a_list_with_an_item_without_a_name_deletes_nothing(void **state)
{
    (void)state;
    CHECK(SYNCED,
          {OK, .body = ERROR_EVENT("500", "InternalError", "x"),
           .next = "WAIT 800, " LIST_FROM("10")},
          {OK, .body = PAGE("12", "", UNNAMED "," ITEM("c", "u3", "11", "")),
           .heard = "+ns/c:u3:11", .next = WATCH("12")},
          {OK, .body = ERROR_EVENT("500", "InternalError", "x"),
           .next = "WAIT 1600, " LIST_FROM("12")},
          {OK, .body = PAGE("13", "", ITEM("a", "u1", "3", "") "," ITEM("c", "u3", "11", "")),
           .heard = "-ns/b:u2:4?", .next = WATCH("13")});
}

static void test_an_item_with_an_invalid_name_keeps_the_object_with_its_uid(void **state)
{
    (void)state;
    CHECK(SYNCED,
          {OK, .body = ERROR_EVENT("500", "InternalError", "x"),
           .next = "WAIT 800, " LIST_FROM("10")},
          {OK, .body = PAGE("12", "", ITEM("a/x", "u1", "11", "")), .heard = "-ns/b:u2:4?",
           .next = WATCH("12")});
}

static void test_a_change_that_is_skipped_causes_no_list(void **state)
{
    (void)state;
    CHECK(SYNCED, {OK,
                   .body = EVENT_OF("MODIFIED", "ConfigMap", "a", "u1", "11", TOO_BIG)
                       EVENT_OF("MODIFIED", "ConfigMap", "a", "u1", "12", TOO_BIG)
                           EVENT_OF("ADDED", "ConfigMap", "n", "u7", "13", TOO_BIG)
                               EVENT("MODIFIED", "b", "u2", "14")
                                   EVENT_OF("MODIFIED", "ConfigMap", "a", "u1", "15", TOO_BIG),
                   .heard = "~ns/b:u2:14", .next = WATCH("15")});
}

static void test_an_end_counts_whatever_its_last_state_is(void **state)
{
    (void)state;
    CHECK(SYNCED, {OK,
                   .body = EVENT_OF("DELETED", "ConfigMap", "a", "u1", "11", TOO_BIG)
                       EVENT_OF("DELETED", "Secret", "b", "u8", "12", "")
                           EVENT_OF("DELETED", "Secret", "b", "u2", "13", ""),
                   .heard = "-ns/a:u1:3? -ns/b:u2:4?", .next = WATCH("11")});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_s1_s21_a_list_then_events_then_the_watch_again),
        cmocka_unit_test(test_an_empty_list_is_a_list),
        cmocka_unit_test(test_s3_pages_are_committed_together),
        cmocka_unit_test(test_items_before_metadata),
        cmocka_unit_test(test_s34_s35_s51_a_relist_reports_the_differences_only),
        cmocka_unit_test(test_s8_an_expired_page_drops_what_was_staged),
        cmocka_unit_test(test_a_list_of_the_newest_state_is_compared_by_bytes),
        cmocka_unit_test(test_s9_s18_a_version_that_the_server_refuses_is_left_out),
        cmocka_unit_test(test_s2_a_list_that_is_cut_off_changes_nothing),
        cmocka_unit_test(test_a_watch_that_does_not_start_keeps_its_version),
        cmocka_unit_test(test_bodies_of_errors_may_be_anything),
        cmocka_unit_test(test_a_retry_after_without_measure_is_bounded),
        cmocka_unit_test(test_html_with_200_is_no_answer),
        cmocka_unit_test(test_s24_half_a_frame_at_the_end_is_not_an_event),
        cmocka_unit_test(test_a_watch_that_is_spoilt_waits),
        cmocka_unit_test(test_s23_broken_frames_end_the_watch_and_list),
        cmocka_unit_test(test_s45_busy_in_an_error_event_waits_and_watches),
        cmocka_unit_test(test_s20_events_of_another_kind_are_skipped_and_keep_the_version),
        cmocka_unit_test(test_s20_events_without_a_name_are_skipped_and_move_the_version),
        cmocka_unit_test(test_events_without_a_version_are_skipped_except_ends),
        cmocka_unit_test(test_lists_of_another_kind_are_refused),
        cmocka_unit_test(test_an_item_that_is_too_big_keeps_its_old_state),
        cmocka_unit_test(test_a_list_with_an_item_without_a_name_deletes_nothing),
        cmocka_unit_test(test_an_item_with_an_invalid_name_keeps_the_object_with_its_uid),
        cmocka_unit_test(test_a_change_that_is_skipped_causes_no_list),
        cmocka_unit_test(test_an_end_counts_whatever_its_last_state_is),
        cmocka_unit_test(test_a_nul_in_a_version_or_token_is_a_broken_list),
        cmocka_unit_test(test_a_frame_without_end_ends_the_stream),
    };

    return cmocka_run_group_tests(tests, list_watch_script_be_quiet, NULL);
}
