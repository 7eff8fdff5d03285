/* SPDX-License-Identifier: Apache-2.0 */
/* cache/list_watch: lists that the guard holds, and versions that go backwards
 * (docs/design.md "Guard", docs/kubernetes-protocol.md "Order of versions"). */
#include "identified.h"
#include "list_watch_script.h"

#include <string.h>

#define OK        .code = 200
#define ITEM_N(n) ITEM("i" n, "u" n, n, "")
#define FOUR      ITEM_N("1") "," ITEM_N("2") "," ITEM_N("3") "," ITEM_N("4")
#define EIGHT     FOUR "," ITEM_N("5") "," ITEM_N("6") "," ITEM_N("7") "," ITEM_N("8")
#define ALL_EIGHT                                                                          \
    "+ns/i1:u1:1 +ns/i2:u2:2 +ns/i3:u3:3 +ns/i4:u4:4 +ns/i5:u5:5 +ns/i6:u6:6 +ns/i7:u7:7 " \
    "+ns/i8:u8:8"
#define FILLED                                                                     \
    {                                                                              \
        OK, .body = PAGE("10", "", EIGHT), .heard = ALL_EIGHT, .next = WATCH("10") \
    }
#define LOST                                                                 \
    {                                                                        \
        OK, .body = BOOKMARK("20") ERROR_EVENT("500", "InternalError", "x"), \
            .next = "WAIT 800, " LIST_FROM("20")                             \
    }

static const struct list_watch_script_setup guarded = {.watch_list = WATCH_LIST_OFF,
                                                       .relist_deletes = 50};

static struct list_watch_script script;

static int set_up(void **state)
{
    (void)state;
    list_watch_script_init(&script, &guarded);
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

#define PLAY(...)                                                     \
    do {                                                              \
        static const struct answer answers[] = {__VA_ARGS__};         \
        list_watch_script_play(&script, answers, ARRAY_LEN(answers)); \
    } while (0)

/* Answers the list, and looks at the next action alone. */
static void answer_list(const char *body, enum list_watch_do next)
{
    buf_clear(&script.heard);
    script.action = objects_answer(script.list_watch, body, script.now);
    assert_int_equal(script.action.what, next);
}

static void test_s19_a_held_list_changes_nothing_till_a_second_one_agrees(void **state)
{
    (void)state;
    PLAY(FILLED, LOST, {OK, .body = PAGE("30", "", ""), .next = HELD LIST_NEWEST});
    assert_int_equal(store_count(script.store), 8);
    assert_int_equal(status().guard->deletes, 8);
    assert_int_equal(status().relists[RELIST_ERROR], 1);
    answer_list(PAGE("31", "", ""), LW_WATCH);
    assert_int_equal(store_count(script.store), 0);
    assert_false(guard_holds(status().guard));
    assert_string_equal(status().rv, "31");
    assert_int_equal(status().relists[RELIST_ERROR], 1);
}

static void test_a_second_list_that_looks_well_is_applied(void **state)
{
    (void)state;
    PLAY(FILLED, LOST, {OK, .body = PAGE("30", "", ""), .next = HELD LIST_NEWEST},
         {OK, .body = PAGE("31", "", EIGHT), .next = WATCH("31")});
}

static void test_a_list_that_passes_is_applied_at_once(void **state)
{
    (void)state;
    PLAY(FILLED, LOST,
         {OK, .body = PAGE("30", "", FOUR),
          .heard = "-ns/i5:u5:5? -ns/i6:u6:6? -ns/i7:u7:7? -ns/i8:u8:8?", .next = WATCH("30")});
}

static void test_the_first_list_is_never_held(void **state)
{
    (void)state;
    PLAY({OK, .body = PAGE("10", "", ""), .next = WATCH("10")});
    assert_true(status().synced);
}

static void test_deletes_of_the_watch_are_never_held(void **state)
{
    (void)state;
    PLAY(FILLED, {OK,
                  .body = EVENT("DELETED", "i1", "u1", "11") EVENT("DELETED", "i2", "u2", "12")
                      EVENT("DELETED", "i3", "u3", "13") EVENT("DELETED", "i4", "u4", "14")
                          EVENT("DELETED", "i5", "u5", "15") EVENT("DELETED", "i6", "u6", "16"),
                  .heard = "-ns/i1:u1:11 -ns/i2:u2:12 -ns/i3:u3:13 -ns/i4:u4:14 -ns/i5:u5:15 "
                           "-ns/i6:u6:16",
                  .next = WATCH("16")});
}

#define OTHER(n) ITEM("i" n, "other", "20", "")

static void test_s37_other_incarnations_count_as_deletes(void **state)
{
    (void)state;
    PLAY(FILLED, LOST,
         {OK,
          .body = PAGE("30", "", FOUR "," OTHER("5") "," OTHER("6") "," OTHER("7") "," ITEM_N("8")),
          .heard = "-ns/i5:u5:5? -ns/i6:u6:6? -ns/i7:u7:7? +ns/i5:other:20 +ns/i6:other:20 "
                   "+ns/i7:other:20",
          .next = WATCH("30")});
    clean_up(NULL);
    set_up(NULL);
    PLAY(FILLED, LOST,
         {OK,
          .body = PAGE("30", "",
                       ITEM_N("1") "," ITEM_N("2") "," ITEM_N("3") "," OTHER("4") "," OTHER(
                           "5") "," OTHER("6") "," OTHER("7") "," OTHER("8")),
          .next = HELD LIST_NEWEST});
    assert_int_equal(status().guard->deletes, 5);
}

static void test_accept_applies_at_once(void **state)
{
    (void)state;
    PLAY(FILLED, LOST);
    assert_false(list_watch_guard(script.list_watch, true));
    answer_list(PAGE("30", "", ""), LW_WAIT);
    assert_int_equal(script.action.wait_ms, 60000);
    assert_int_equal(status().state, REFLECTOR_HELD);
    script.now.ms += 10;
    assert_true(list_watch_guard(script.list_watch, true));
    assert_true(list_watch_is_ordered(script.list_watch));
    struct list_watch_action a = list_watch_restart(script.list_watch, script.now);
    assert_false(list_watch_is_ordered(script.list_watch));
    assert_int_equal(a.what, LW_LIST);
    assert_string_equal(a.target, PATH "?limit=500");
    answer_list(PAGE("30", "", ""), LW_WATCH);
    assert_int_equal(store_count(script.store), 0);
    assert_int_equal(status().relists[RELIST_MANUAL], 0); /* still the same list */
}

static void test_reject_keeps_the_cache_till_a_list_looks_well(void **state)
{
    (void)state;
    PLAY(FILLED, LOST);
    answer_list(PAGE("30", "", ""), LW_WAIT);
    assert_true(list_watch_guard(script.list_watch, false));
    assert_false(list_watch_is_ordered(script.list_watch));
    for (int i = 0; i < 5; i++) {
        script.now.ms += script.action.wait_ms;
        assert_int_equal(list_watch_timer(script.list_watch, script.now.ms).what, LW_LIST);
        answer_list(PAGE("30", "", ""), LW_WAIT);
        assert_in_range(script.action.wait_ms, 60000, 60000);
        assert_int_equal(store_count(script.store), 8);
    }
    script.now.ms += script.action.wait_ms;
    assert_int_equal(list_watch_timer(script.list_watch, script.now.ms).what, LW_LIST);
    answer_list(PAGE("32", "", EIGHT), LW_WATCH);
    assert_false(guard_holds(status().guard));
}

static void test_a_held_list_is_no_error(void **state)
{
    (void)state;
    PLAY(FILLED, LOST);
    answer_list(PAGE("30", "", ""), LW_WAIT);
    assert_int_equal(status().err->kind, ERR_OK);
    assert_int_equal(status().follow_ms, script.now.ms);
    script.now.ms += 60000;
    list_watch_timer(script.list_watch, script.now.ms);
    assert_int_equal(status().follow_ms, script.now.ms);
}

static void test_a_held_streaming_list_waits_and_is_asked_for_anew(void **state)
{
    static const struct list_watch_script_setup streams = {.watch_list = WATCH_LIST_AUTO,
                                                           .relist_deletes = 50};

    (void)state;
    list_watch_script_restart(&script, &streams);
    PLAY(FILLED,
         {OK, .body = BOOKMARK("20") ERROR_EVENT("500", "InternalError", "x"),
          .next = "WAIT 800, " STREAM_FROM("20")},
         {OK, .body = INITIAL_END("30"), .next = HELD STREAM},
         {OK, .body = EVENT("ADDED", "i1", "u1", "1") INITIAL_END("31"),
          .heard = "-ns/i2:u2:2? -ns/i3:u3:3? -ns/i4:u4:4? -ns/i5:u5:5? -ns/i6:u6:6? -ns/i7:u7:7? "
                   "-ns/i8:u8:8?",
          .next = WATCH("31")});
}

/* ---- Versions that go backwards. */

static void test_a_list_from_a_version_that_is_older_is_asked_for_anew_then_held(void **state)
{
    (void)state;
    PLAY(FILLED, LOST, {OK, .body = PAGE("19", "", EIGHT), .next = "WAIT 1600, " LIST_NEWEST},
         {OK, .body = PAGE("19", "", EIGHT), .next = HELD LIST_NEWEST});
    assert_int_equal(status().guard->reason, GUARD_BACKWARDS);
    PLAY({OK, .body = PAGE("19", "", EIGHT), .next = WATCH("19")});
}

static void test_a_bookmark_that_goes_back_pauses_and_lists_the_newest(void **state)
{
    (void)state;
    PLAY(FILLED,
         {OK, .body = BOOKMARK("20") BOOKMARK("19") EVENT("ADDED", "never", "u", "21"),
          .next = "WAIT 800, " LIST_NEWEST},
         {OK, .body = PAGE("21", "", EIGHT), .next = WATCH("21")});
    assert_int_equal(status().relists[RELIST_BACKWARDS], 1);
}

static void test_a_bookmark_that_goes_back_has_an_error_text(void **state)
{
    static const char body[] = BOOKMARK("20") BOOKMARK("19");

    (void)state;
    PLAY(FILLED);
    list_watch_script_head(&script);
    assert_false(list_watch_body(script.list_watch, body, sizeof(body) - 1, script.now));
    assert_int_equal(list_watch_end_identified(script.list_watch, NULL, script.now).what, LW_WAIT);
    assert_int_equal(status().err->kind, ERR_SERVER);
    assert_non_null(strstr(status().err->text, "from 20 to 19"));
}

static void test_s20_events_may_go_back(void **state)
{
    (void)state;
    PLAY(FILLED, {OK, .body = EVENT("MODIFIED", "i1", "u1", "55") EVENT("ADDED", "n", "u", "32"),
                  .heard = "~ns/i1:u1:55 +ns/n:u:32", .next = WATCH("32")});
}

static void test_a_future_version_is_found_by_a_probe_and_held(void **state)
{
    (void)state;
    PLAY(FILLED, {OK, .body = BOOKMARK("20"), .next = WATCH("20")},
         {OK, .body = "", .next = WATCH("20")}, {OK, .body = "", .next = PROBE},
         {OK, .body = PAGE("12", "more", ITEM_N("1")), .next = LIST_NEWEST},
         {OK, .body = PAGE("12", "", EIGHT), .next = HELD LIST_NEWEST});
    assert_int_equal(status().guard->reason, GUARD_BACKWARDS);
    assert_int_equal(status().relists[RELIST_FUTURE], 1);
    PLAY({OK, .body = PAGE("13", "", EIGHT), .next = WATCH("13")});
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, clean_up)
    const struct CMUnitTest tests[] = {
        TEST(test_s19_a_held_list_changes_nothing_till_a_second_one_agrees),
        TEST(test_a_second_list_that_looks_well_is_applied),
        TEST(test_a_list_that_passes_is_applied_at_once),
        TEST(test_the_first_list_is_never_held),
        TEST(test_deletes_of_the_watch_are_never_held),
        TEST(test_s37_other_incarnations_count_as_deletes),
        TEST(test_accept_applies_at_once),
        TEST(test_reject_keeps_the_cache_till_a_list_looks_well),
        TEST(test_a_held_list_is_no_error),
        TEST(test_a_held_streaming_list_waits_and_is_asked_for_anew),
        TEST(test_a_list_from_a_version_that_is_older_is_asked_for_anew_then_held),
        TEST(test_a_bookmark_that_goes_back_pauses_and_lists_the_newest),
        TEST(test_a_bookmark_that_goes_back_has_an_error_text),
        TEST(test_s20_events_may_go_back),
        TEST(test_a_future_version_is_found_by_a_probe_and_held),
    };
#undef TEST

    return cmocka_run_group_tests(tests, list_watch_script_be_quiet, NULL);
}
