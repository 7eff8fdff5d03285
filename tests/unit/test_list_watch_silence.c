/* SPDX-License-Identifier: Apache-2.0 */
/* cache/list_watch: deadlines, silence and probes (docs/kubernetes-protocol.md "Dead connections",
 * "Versions of the future"), and the status. */
#include "identified.h"
#include "list_watch_script.h"

#include <string.h>

#define OK .code = 200
#define CHECK(...)                                                    \
    do {                                                              \
        static const struct answer answers[] = {__VA_ARGS__};         \
        list_watch_script_check(&plain, answers, ARRAY_LEN(answers)); \
    } while (0)

static const struct list_watch_script_setup plain = {.watch_list = WATCH_LIST_OFF};

static struct list_watch_script script;

/* The list_watch watches from 10. */
static int set_up(void **state)
{
    static const struct answer synced = SYNCED;

    (void)state;
    list_watch_script_init(&script, &plain);
    list_watch_script_play(&script, &synced, 1);
    assert_int_equal(script.action.what, LW_WATCH);
    return 0;
}

static int clean_up(void **state)
{
    (void)state;
    list_watch_script_fini(&script);
    return 0;
}

static struct list_watch_status status(void)
{
    return list_watch_status(script.list_watch);
}

static void ends(const struct err *err, enum list_watch_do what, const char *query)
{
    script.action = list_watch_end_identified(script.list_watch, err, script.now);
    assert_int_equal(script.action.what, what);
    assert_non_null(strstr(script.action.target, query));
}

/* ---- Deadlines. */

static void test_s58_a_watch_must_end_ten_seconds_behind_its_time(void **state)
{
    const struct err late = {.kind = ERR_TIMEOUT, .text = "deadline"};

    (void)state;
    assert_int_equal(script.action.deadline_ms, 310000);
    list_watch_script_head(&script);
    script.now.ms += 310000;
    ends(&late, LW_WATCH, "resourceVersion=10");
}

static void test_lists_have_no_deadline_of_the_whole(void **state)
{
    struct list_watch_script t;

    (void)state;
    list_watch_script_init(&t, &plain);
    assert_int_equal(t.action.what, LW_LIST);
    assert_int_equal(t.action.deadline_ms, 0);
    assert_int_equal(list_watch_due_ms(t.list_watch), UINT64_MAX);
    list_watch_script_fini(&t);
}

static void test_a_watch_without_bookmarks_is_never_overdue(void **state)
{
    (void)state;
    list_watch_script_head(&script);
    assert_int_equal(list_watch_due_ms(script.list_watch), UINT64_MAX);
    list_watch_script_body(&script, EVENT("MODIFIED", "a", "u1", "11"));
    assert_int_equal(list_watch_due_ms(script.list_watch), UINT64_MAX);
    assert_false(list_watch_overdue(script.list_watch, script.now.ms + 300000));
}

static void test_a_watch_that_had_a_bookmark_is_overdue_and_resumed_without_a_list(void **state)
{
    (void)state;
    list_watch_script_head(&script);
    list_watch_script_body(&script, BOOKMARK("15"));
    assert_int_equal(status().bookmark_ms, script.now.ms);
    script.now.ms += 100000;
    list_watch_script_body(&script, EVENT("MODIFIED", "a", "u1", "16"));
    assert_int_equal(list_watch_due_ms(script.list_watch), script.now.ms + 150000);
    assert_false(list_watch_overdue(script.list_watch, script.now.ms + 149999));
    script.now.ms += 150000;
    assert_true(list_watch_overdue(script.list_watch, script.now.ms));
    ends(NULL, LW_WATCH, "resourceVersion=16");
    assert_int_equal(status().err->kind, ERR_OK);
    for (int i = 0; i < RELIST_REASONS; i++)
        assert_int_equal(status().relists[i], 0);
    list_watch_script_head(&script); /* the next watch has had no bookmark yet */
    assert_int_equal(list_watch_due_ms(script.list_watch), UINT64_MAX);
}

/* ---- Probes. */

static void test_silent_watches_are_probed_and_go_on(void **state)
{
    (void)state;
    CHECK(SYNCED, {OK, .body = "", .next = WATCH("10")}, {OK, .body = "", .next = PROBE},
          {OK, .body = PAGE("10", "more", ITEM("z", "u9", "9", "")), .next = WATCH("10")},
          {OK, .body = "", .next = WATCH("10")}, {OK, .body = "", .next = PROBE},
          {OK, .body = PAGE("17", "", ""), .next = WATCH("10")});
}

/* A probe is tried again, unless it is refused three times: without it, a watch from the future
 * would be silent for its whole time. */
static void test_a_probe_that_fails_is_tried_again(void **state)
{
    (void)state;
    CHECK(SYNCED, {OK, .body = "", .next = WATCH("10")}, {OK, .body = "", .next = PROBE},
          {.code = 500, .body = "", .next = "WAIT 800, " PROBE});
    CHECK(SYNCED, {OK, .body = "", .next = WATCH("10")}, {OK, .body = "", .next = PROBE},
          {OK, .body = "{\"kind\":\"ConfigMapList\"", .next = "WAIT 800, " PROBE});
    CHECK(SYNCED, {OK, .body = "", .next = WATCH("10")}, {OK, .body = "", .next = PROBE},
          {.code = 403, .body = "", .next = "WAIT 800, " PROBE},
          {.code = 403, .body = "", .next = "WAIT 1600, " PROBE},
          {.code = 403, .body = "", .next = "WAIT 3200, " WATCH("10")});
}

/* The token of a probe's page is no token of the list before. */
static void test_the_token_of_a_probe_is_not_used(void **state)
{
    (void)state;
    CHECK({OK, .body = PAGE("10", "t", ITEM("a", "u1", "3", "")), .next = LIST_NEXT("t")},
          {OK, .body = PAGE("10", "", ITEM("b", "u2", "4", "")), .heard = "+ns/a:u1:3 +ns/b:u2:4",
           .next = WATCH("10")},
          {OK, .body = "", .next = WATCH("10")}, {OK, .body = "", .next = PROBE},
          {OK, .body = PAGE("9", "t", ITEM("a", "u1", "3", "")), .next = LIST_NEWEST});
}

/* ---- Status. */

static void test_contact_is_the_last_good_byte(void **state)
{
    uint64_t listed_ms = script.now.ms;

    (void)state;
    assert_int_equal(status().contact_ms, listed_ms);
    script.now.ms += 1000;
    list_watch_head(script.list_watch, &(struct http_head){.status = 429, .retry_after_s = -1},
                    script.now.ms);
    list_watch_script_body(&script, "{}");
    assert_int_equal(status().contact_ms, listed_ms);
    assert_int_equal(list_watch_end_identified(script.list_watch, NULL, script.now).what, LW_WAIT);
    list_watch_timer(script.list_watch, script.now.ms);
    assert_int_equal(status().err->kind, ERR_BUSY);
    list_watch_script_head(&script);
    assert_int_equal(status().err->kind, ERR_OK); /* the error is over */
    assert_int_equal(status().contact_ms, script.now.ms);
    script.now.ms += 500;
    list_watch_script_body(&script, "\n");
    assert_int_equal(status().contact_ms, script.now.ms);
    script.now.ms += 500;
    assert_false(list_watch_body(script.list_watch, "oops", 4, script.now));
    assert_int_equal(status().contact_ms, script.now.ms - 500);
}

static void test_events_and_bookmarks_have_their_times(void **state)
{
    (void)state;
    assert_int_equal(status().event_ms, 0);
    assert_int_equal(status().bookmark_ms, 0);
    list_watch_script_head(&script);
    list_watch_script_body(&script, EVENT("MODIFIED", "a", "u1", "11"));
    assert_int_equal(status().event_ms, script.now.ms);
    assert_int_equal(status().bookmark_ms, 0);
    script.now.ms += 60000;
    list_watch_script_body(&script, BOOKMARK("12"));
    assert_int_equal(status().event_ms, script.now.ms - 60000);
    assert_int_equal(status().bookmark_ms, script.now.ms);
    assert_int_equal(status().events, 1);
}

static void test_a_watch_is_connected_from_its_head_to_its_end(void **state)
{
    (void)state;
    assert_false(status().connected);
    list_watch_script_head(&script);
    assert_true(status().connected);
    script.now.ms += 4000;
    ends(NULL, LW_WATCH, "watch=true");
    assert_false(status().connected);
    assert_int_equal(status().follow_ms, script.now.ms);
}

/* ---- Ordered relists. */

static void test_an_ordered_list_drops_the_request_under_way(void **state)
{
    (void)state;
    list_watch_script_head(&script);
    list_watch_script_body(&script, EVENT("MODIFIED", "a", "u1", "11"));
    assert_false(list_watch_is_ordered(script.list_watch));
    list_watch_order(script.list_watch, RELIST_MANUAL);
    assert_true(list_watch_is_ordered(script.list_watch));
    script.now.ms += 9000;
    script.action = list_watch_restart(script.list_watch, script.now);
    assert_false(list_watch_is_ordered(script.list_watch));
    assert_string_equal(script.action.target, PATH "?limit=500");
    assert_int_equal(status().relists[RELIST_MANUAL], 1);
    assert_int_equal(status().follow_ms, script.now.ms);
}

static void test_a_relist_ordered_by_an_audit_has_that_cause(void **state)
{
    static const struct answer relisted = {.code = 200,
                                           .body = PAGE("20", "", ITEM("b", "u2", "5", "")),
                                           .heard = "-ns/a:u1:3?(audit) ~ns/b:u2:5(audit)",
                                           .next = WATCH("20")};
    static const struct answer then = {.code = 200,
                                       .body = EVENT("MODIFIED", "b", "u2", "21"),
                                       .heard = "~ns/b:u2:21",
                                       .next = WATCH("21")};

    (void)state;
    list_watch_order(script.list_watch, RELIST_AUDIT);
    assert_int_equal(list_watch_restart(script.list_watch, script.now).what, LW_LIST);
    list_watch_script_play(&script, &relisted, 1);
    list_watch_script_play(&script, &then, 1);
}

static void test_an_ordered_relist_comes_before_a_wait(void **state)
{
    (void)state;
    assert_int_equal(
        list_watch_end_identified(script.list_watch, &(struct err){.kind = ERR_REFUSED}, script.now)
            .what,
        LW_WAIT);
    list_watch_order(script.list_watch, RELIST_AUDIT);
    assert_int_equal(list_watch_restart(script.list_watch, script.now).what, LW_LIST);
    assert_int_equal(status().relists[RELIST_AUDIT], 1);
}

static void test_a_list_that_fails_lets_go_of_what_it_staged(void **state)
{
    static const char half[] =
        "{\"kind\":\"ConfigMapList\",\"metadata\":{\"resourceVersion\":\"20\"},"
        "\"items\":[" ITEM("a", "other", "15", "");

    (void)state;
    list_watch_order(script.list_watch, RELIST_MANUAL);
    list_watch_restart(script.list_watch, script.now);
    list_watch_script_head(&script);
    list_watch_script_body(&script, half);
    assert_int_equal(store_would_delete(script.store, 0),
                     2); /* the former incarnation of a, and b */
    assert_int_equal(
        list_watch_end_identified(script.list_watch, &(struct err){.kind = ERR_CLOSED}, script.now)
            .what,
        LW_WAIT);
    assert_int_equal(store_would_delete(script.store, 0), 1); /* b: nothing of a is staged */
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, clean_up)
    const struct CMUnitTest tests[] = {
        TEST(test_s58_a_watch_must_end_ten_seconds_behind_its_time),
        TEST(test_lists_have_no_deadline_of_the_whole),
        TEST(test_a_watch_without_bookmarks_is_never_overdue),
        TEST(test_a_watch_that_had_a_bookmark_is_overdue_and_resumed_without_a_list),
        cmocka_unit_test(test_silent_watches_are_probed_and_go_on),
        cmocka_unit_test(test_a_probe_that_fails_is_tried_again),
        cmocka_unit_test(test_the_token_of_a_probe_is_not_used),
        TEST(test_contact_is_the_last_good_byte),
        TEST(test_events_and_bookmarks_have_their_times),
        TEST(test_a_watch_is_connected_from_its_head_to_its_end),
        TEST(test_an_ordered_list_drops_the_request_under_way),
        TEST(test_a_relist_ordered_by_an_audit_has_that_cause),
        TEST(test_an_ordered_relist_comes_before_a_wait),
        TEST(test_a_list_that_fails_lets_go_of_what_it_staged),
    };
#undef TEST

    return cmocka_run_group_tests(tests, list_watch_script_be_quiet, NULL);
}
