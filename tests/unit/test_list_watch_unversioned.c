/* SPDX-License-Identifier: Apache-2.0 */
/* cache/list_watch: servers that give their lists no version. A watch without a version sends all
 * objects that exist, in any order; a LIST beside it finds those that were deleted before. */
#include "identified.h"
#include "list_watch_script.h"

#include <string.h>

#define ITEM_A       ITEM("a", "u1", "3", "")
#define ITEM_B       ITEM("b", "u2", "4", "")
#define BARE(meta)   "{\"kind\":\"ConfigMapList\",\"apiVersion\":\"v1\"," meta "\"items\":["
#define LIST_OF(...) BARE("\"metadata\":{},") __VA_ARGS__ "]}\n"
#define WATCH_ALL    "WATCH 310000 " PATH "?watch=true&allowWatchBookmarks=true&timeoutSeconds=300"
#define BOTH         "+ns/a:u1:3 +ns/b:u2:4"

/* a and b, and no version; a watch without a version follows. */
#define LISTED                                                                            \
    {                                                                                     \
        .code = 200, .body = LIST_OF(ITEM_A "," ITEM_B), .heard = BOTH, .next = WATCH_ALL \
    }

#define CHECK(setup, ...)                                               \
    do {                                                                \
        static const struct answer answers[] = {__VA_ARGS__};           \
        list_watch_script_check(&(setup), answers, ARRAY_LEN(answers)); \
    } while (0)

static const struct list_watch_script_setup plain = {.watch_list = WATCH_LIST_AUTO};
static const struct list_watch_script_setup guarded = {.watch_list = WATCH_LIST_OFF,
                                                       .relist_deletes = 50};

static struct list_watch_script script;

static void begin(const struct list_watch_script_setup *setup)
{
    static const struct answer listed = LISTED;

    list_watch_script_restart(&script, setup);
    list_watch_script_play(&script, &listed, 1);
}

static int set_up(void **state)
{
    (void)state;
    list_watch_script_be_quiet(state);
    list_watch_script_init(&script, &plain);
    begin(&plain);
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

static const struct http_head good = {.status = 200, .retry_after_s = -1};

static void heard(const char *want)
{
    assert_string_equal(buf_cstr(&script.heard), want);
    buf_clear(&script.heard);
}

/* The watch is open, and these are its first events. */
static void opens(const char *text)
{
    buf_clear(&script.heard);
    list_watch_head(script.list_watch, &good, script.now.ms);
    list_watch_script_body(&script, text);
}

static void falls_silent(void)
{
    assert_false(list_watch_wants_compare(script.list_watch));
    assert_int_equal(list_watch_due_ms(script.list_watch), script.now.ms + 500);
    script.now.ms += 500;
    assert_false(list_watch_overdue(script.list_watch, script.now.ms));
    assert_true(list_watch_wants_compare(script.list_watch));
}

static void asks_beside(const char *want)
{
    struct list_watch_action a = list_watch_compare(script.list_watch);

    assert_int_equal(a.what, LW_LIST);
    assert_string_equal(a.target, want);
    assert_false(list_watch_wants_compare(script.list_watch));
}

/* The list beside the watch has this body; returns whether the watch goes on. */
static bool lists(const char *text)
{
    list_watch_compare_head(script.list_watch, &good);
    bool whole = list_watch_compare_body(script.list_watch, text, strlen(text), script.now);
    return list_watch_compare_end(script.list_watch, NULL, script.now) && whole;
}

static void compares(const char *text)
{
    falls_silent();
    asks_beside(PATH "?limit=500");
    assert_true(lists(text));
    assert_false(list_watch_wants_compare(script.list_watch));
}

/* The watch has ended, and this is the next action. */
static void ends(const char *want)
{
    static const char *const names[] = {"LIST ", "STREAM ", "WATCH 310000 ", "IDENTIFY ", "WAIT"};
    struct buf next = {0};

    script.action = list_watch_end_identified(script.list_watch, NULL, script.now);
    buf_printf(&next, "%s%s", names[script.action.what],
               script.action.what == LW_WAIT ? "" : script.action.target);
    assert_string_equal(buf_cstr(&next), want);
    buf_free(&next);
}

/* The watch is open and has sent the objects that exist, and the list beside it was compared. */
static void follows(void)
{
    opens(EVENT("ADDED", "b", "u2", "4") EVENT("ADDED", "a", "u1", "3"));
    compares(LIST_OF(ITEM_A "," ITEM_B));
    heard("");
}

static void ends_later(const char *want)
{
    script.now.ms += 60000;
    ends(want);
}

/* ---- The list. */

static void test_a_list_without_a_version_is_a_sync(void **state)
{
    static const char *const bodies[] = {
        PAGE("0", "", ITEM_A "," ITEM_B),
        PAGE("", "", ITEM_A "," ITEM_B),
        BARE("\"metadata\":{\"resourceVersion\":null},") ITEM_A "," ITEM_B "]}",
        BARE("\"metadata\":{},") ITEM_A "," ITEM_B "]}",
        BARE("") ITEM_A "," ITEM_B "]}",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bodies); i++) {
        const struct answer answer = {
            .code = 200, .body = bodies[i], .heard = BOTH, .next = WATCH_ALL};

        list_watch_script_check(&plain, &answer, 1);
    }
    assert_true(status().synced);
    assert_string_equal(status().rv, "");
}

static void test_a_body_without_version_and_items_is_no_list(void **state)
{
    static const struct answer answers[] = {
        {.code = 200,
         .body = "{\"kind\":\"ConfigMapList\",\"apiVersion\":\"v1\"}",
         .next = "WAIT 800, " LIST_ZERO}
    };

    (void)state;
    list_watch_script_check(&plain, answers, 1);
}

static void test_without_a_version_on_its_first_page_a_list_has_none(void **state)
{
    static const struct answer answers[] = {
        {.code = 200,       .body = PAGE("", "t",     ITEM_A),       .next = LIST_NEXT("t")},
        { .code = 200, .body = PAGE("7",              "", ITEM_B), .heard = BOTH,      .next = WATCH_ALL},
    };

    (void)state;
    list_watch_script_check(&plain, answers, ARRAY_LEN(answers));
}

/* ---- The watch and the list beside it. */

static void test_initial_events_in_any_order_change_nothing_that_was_listed(void **state)
{
    (void)state;
    follows();
    assert_int_equal(status().state, REFLECTOR_WATCHING);
    assert_true(status().connected);
}

static void test_the_watch_follows_only_when_deleted_objects_are_known(void **state)
{
    (void)state;
    opens(EVENT("ADDED", "a", "u1", "3"));
    assert_int_equal(status().state, REFLECTOR_COMPARING);
    assert_false(status().connected);
    falls_silent();
    assert_false(status().connected);
    asks_beside(PATH "?limit=500");
    script.now.ms += 1000;
    assert_true(lists(LIST_OF(ITEM_A)));
    heard("-ns/b:u2:4?");
    assert_true(status().connected);
    assert_int_equal(status().follow_ms, script.now.ms);
}

static void test_a_busy_watch_is_compared_too(void **state)
{
    (void)state;
    opens(EVENT("ADDED", "a", "u1", "3"));
    for (unsigned i = 0; i < 20; i++) {
        assert_false(list_watch_overdue(script.list_watch, script.now.ms));
        assert_false(list_watch_wants_compare(script.list_watch));
        script.now.ms += 250;
        list_watch_script_body(&script, EVENT("ADDED", "b", "u2", "4"));
    }
    assert_false(list_watch_overdue(script.list_watch, script.now.ms));
    assert_true(list_watch_wants_compare(script.list_watch));
}

static void test_objects_deleted_before_the_watch_began_are_found(void **state)
{
    (void)state;
    opens(EVENT("ADDED", "a", "u1", "3"));
    compares(LIST_OF(ITEM_A));
    heard("-ns/b:u2:4?");
}

static void test_a_list_does_not_bring_back_deleted_objects(void **state)
{
    (void)state;
    opens(EVENT("ADDED", "a", "u1", "3") EVENT("ADDED", "b", "u2", "4"));
    falls_silent();
    asks_beside(PATH "?limit=500");
    list_watch_script_body(&script, EVENT("DELETED", "b", "u2", "5"));
    heard("-ns/b:u2:5");
    assert_true(lists(LIST_OF(ITEM_A "," ITEM_B)));
    heard("");
}

static void test_a_list_does_not_delete_objects_that_the_watch_added(void **state)
{
    (void)state;
    opens(EVENT("ADDED", "a", "u1", "3"));
    falls_silent();
    asks_beside(PATH "?limit=500");
    list_watch_script_body(&script,
                           EVENT("ADDED", "c", "u3", "6") EVENT("MODIFIED", "b", "u2", "7"));
    heard("+ns/c:u3:6 ~ns/b:u2:7");
    assert_true(lists(LIST_OF(ITEM_A)));
    heard("");
}

static void test_a_list_does_not_change_the_state_of_an_object(void **state)
{
    (void)state;
    opens(EVENT("ADDED", "a", "u1", "3"));
    compares(LIST_OF(ITEM("a", "u1", "9", "\"k\":\"v\"") "," ITEM_B));
    heard("");
}

static void test_a_list_with_another_incarnation_ends_the_one_before(void **state)
{
    (void)state;
    opens("");
    compares(LIST_OF(ITEM("a", "u7", "8", "") "," ITEM_B));
    heard("-ns/a:u1:3?");
}

static void test_all_pages_count_and_their_tokens_are_followed(void **state)
{
    (void)state;
    opens("");
    falls_silent();
    asks_beside(PATH "?limit=500");
    assert_true(lists(PAGE("0", "t", ITEM_A)));
    heard("");
    assert_true(list_watch_wants_compare(script.list_watch));
    asks_beside(PATH "?limit=500&continue=t");
    assert_true(lists(PAGE("0", "", "")));
    heard("-ns/b:u2:4?");
    assert_false(list_watch_wants_compare(script.list_watch));
}

static void test_another_incarnation_comes_with_the_deleted_objects(void **state)
{
    (void)state;
    opens(EVENT("ADDED", "a", "u7", "8"));
    heard("");
    compares(LIST_OF(ITEM("a", "u7", "8", "")));
    heard("-ns/b:u2:4? -ns/a:u1:3? +ns/a:u7:8");
}

static void test_another_incarnation_that_the_watch_deletes_ends_both(void **state)
{
    (void)state;
    opens(EVENT("ADDED", "a", "u7", "8") EVENT("DELETED", "a", "u7", "9"));
    heard("-ns/a:u1:3?");
    compares(LIST_OF(ITEM_B));
    heard("");
}

static void test_objects_without_a_version_are_compared_by_their_bytes(void **state)
{
    static const char other[] = "{\"type\":\"ADDED\",\"object\":{\"kind\":\"ConfigMap\","
                                "\"apiVersion\":\"v1\",\"metadata\":{\"namespace\":\"ns\","
                                "\"name\":\"c\",\"uid\":\"u3\"},\"data\":{\"k\":\"v\"}}}\n";

    (void)state;
    opens(EVENT("ADDED", "a", "u1", "3"));
    list_watch_script_body(&script, other);
    heard("+ns/c:u3:");
    list_watch_script_body(&script, other);
    heard("");
    list_watch_script_body(&script,
                           EVENT_OF("MODIFIED", "ConfigMap", "a", "u1", "3", "\"k\":\"v\""));
    heard("~ns/a:u1:3");
}

/* ---- The end of the watch. */

static void test_the_next_watch_has_no_version_either_and_a_list_beside_it(void **state)
{
    (void)state;
    follows();
    list_watch_script_body(&script, EVENT("MODIFIED", "a", "u1", "12"));
    heard("~ns/a:u1:12");
    ends_later(WATCH_ALL);
    assert_int_equal(status().relists[RELIST_UNVERSIONED], 1);
    opens(EVENT("ADDED", "a", "u1", "12"));
    compares(LIST_OF(ITEM("a", "u1", "12", "")));
    heard("-ns/b:u2:4?");
    assert_int_equal(status().why, RELIST_REASONS);
}

static void test_beside_silent_watches_a_list_comes_instead_of_a_probe(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        opens("");
        compares(LIST_OF(ITEM_A "," ITEM_B));
        ends_later(WATCH_ALL);
    }
}

static void test_a_watch_that_ends_before_its_list_is_listed_first(void **state)
{
    static const struct answer gone = {
        .code = 200, .body = LIST_OF(ITEM_A), .heard = "-ns/b:u2:4?", .next = WATCH_ALL};

    (void)state;
    opens(EVENT("ADDED", "a", "u1", "3"));
    falls_silent();
    asks_beside(PATH "?limit=500");
    script.now.ms += 5000;
    ends(LIST_NEWEST);
    list_watch_script_answer(&script, &gone, 0);
}

static void test_watches_that_keep_ending_before_their_list_wait(void **state)
{
    static const struct answer again = {
        .code = 200, .body = LIST_OF(ITEM_A "," ITEM_B), .next = WATCH_ALL};

    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        opens(EVENT("ADDED", "a", "u1", "3"));
        ends(LIST_NEWEST);
        list_watch_script_answer(&script, &again, 0);
    }
    opens(EVENT("ADDED", "a", "u1", "3"));
    ends("WAIT");
}

static void test_the_next_watch_begins_at_the_version_of_a_bookmark(void **state)
{
    (void)state;
    follows();
    list_watch_script_body(&script, EVENT("MODIFIED", "a", "u1", "12"));
    assert_string_equal(status().rv, "");
    list_watch_script_body(&script, BOOKMARK("20"));
    ends_later(WATCH("20"));
    opens(EVENT("MODIFIED", "a", "u1", "21"));
    ends_later(WATCH("21"));
    assert_int_equal(status().relists[RELIST_UNVERSIONED], 0);
}

static void test_a_bookmark_counts_only_with_the_list(void **state)
{
    (void)state;
    opens(BOOKMARK("20") EVENT("MODIFIED", "a", "u1", "22"));
    script.now.ms += 5000;
    ends(LIST_NEWEST);
    list_watch_script_answer(&script,
                             &(struct answer){.code = 200,
                                              .body = LIST_OF(ITEM_A),
                                              .heard = "-ns/b:u2:4? ~ns/a:u1:3",
                                              .next = WATCH_ALL},
                             0);
    opens(BOOKMARK("30"));
    compares(LIST_OF(ITEM_A));
    ends_later(WATCH("30"));
}

static void test_a_bookmark_before_an_error_does_not_count(void **state)
{
    static const char error[] = BOOKMARK("20") ERROR_EVENT("429", "TooManyRequests", "x");

    (void)state;
    opens("");
    assert_false(list_watch_body(script.list_watch, error, strlen(error), script.now));
    ends("WAIT");
    script.now.ms += script.action.wait_ms;
    assert_null(
        strstr(list_watch_timer(script.list_watch, script.now.ms).target, "resourceVersion"));
}

static void test_a_probe_without_a_version_leads_to_a_list(void **state)
{
    (void)state;
    CHECK(guarded, SYNCED, {.code = 200, .body = "", .next = WATCH("10")},
          {.code = 200, .body = "", .next = PROBE},
          {.code = 200, .body = LIST_OF(ITEM_A), .next = LIST_NEWEST},
          {.code = 200, .body = LIST_OF(ITEM_A), .heard = "-ns/b:u2:4?", .next = WATCH_ALL});
}

static void test_a_delete_needs_no_version(void **state)
{
    static const char bare[] = "{\"type\":\"DELETED\",\"object\":{\"kind\":\"ConfigMap\","
                               "\"apiVersion\":\"v1\",\"metadata\":{\"namespace\":\"ns\","
                               "\"name\":\"a\",\"uid\":\"u1\"}}}\n";
    static const struct answer answers[] = {
        SYNCED, {.code = 200, .body = bare, .heard = "-ns/a:u1:", .next = WATCH("10")}
    };

    (void)state;
    list_watch_script_check(&plain, answers, ARRAY_LEN(answers));
    opens(bare);
    heard("-ns/a:u1:");
}

static void test_the_next_watch_begins_at_the_version_of_a_list_that_has_one_again(void **state)
{
    static const struct answer versioned = {
        .code = 200, .body = PAGE("40", "", ITEM_A "," ITEM_B), .next = WATCH("40")};

    (void)state;
    opens("");
    script.now.ms += 5000;
    ends(LIST_NEWEST);
    list_watch_script_answer(&script, &versioned, 0);
}

static void test_a_list_that_fails_ends_the_watch(void **state)
{
    const struct http_head busy = {.status = 500, .retry_after_s = -1};
    static const char text[] = STATUS("500", "InternalError", "etcd");

    (void)state;
    opens(EVENT("ADDED", "a", "u1", "3"));
    falls_silent();
    asks_beside(PATH "?limit=500");
    list_watch_compare_head(script.list_watch, &busy);
    assert_true(list_watch_compare_body(script.list_watch, text, strlen(text), script.now));
    assert_false(list_watch_compare_end(script.list_watch, NULL, script.now));
    ends("WAIT");
    assert_int_equal(status().err->kind, ERR_SERVER);
    assert_false(status().connected);
}

static void test_pages_that_expire_are_not_asked_for_again(void **state)
{
    const struct http_head head = {.status = 410, .retry_after_s = -1};
    static const char text[] = STATUS("410", "Expired", "too old");
    static const struct answer answers[] = {
        {.code = 200,             .body = PAGE("", "t",           ITEM_A), .next = LIST_NEXT("t")},
        {.code = 410, .body = STATUS("410",                "Expired",                   "too old"), .next = LIST_ALL},
        {.code = 200,              .body = LIST_OF(ITEM_A "," ITEM_B),    .next = WATCH_ALL},
    };

    (void)state;
    opens("");
    falls_silent();
    asks_beside(PATH "?limit=500");
    assert_true(lists(PAGE("0", "t", ITEM_A)));
    asks_beside(PATH "?limit=500&continue=t");
    list_watch_compare_head(script.list_watch, &head);
    assert_true(list_watch_compare_body(script.list_watch, text, strlen(text), script.now));
    assert_false(list_watch_compare_end(script.list_watch, NULL, script.now));
    ends("WAIT");
    script.action = list_watch_timer(script.list_watch, script.now.ms += script.action.wait_ms);
    list_watch_script_play(&script, answers, ARRAY_LEN(answers));
    opens("");
    falls_silent();
    asks_beside(PATH);
}

/* ---- The guard. */

static void test_the_guard_judges_deletes_that_the_list_beside_finds(void **state)
{
    static const struct answer again = {
        .code = 200, .body = LIST_OF(""), .heard = "-ns/a:u1:3? -ns/b:u2:4?", .next = WATCH_ALL};

    (void)state;
    begin(&guarded);
    opens("");
    falls_silent();
    asks_beside(PATH "?limit=500");
    assert_false(lists(LIST_OF("")));
    heard("");
    ends("WAIT");
    assert_int_equal(status().state, REFLECTOR_HELD);
    script.now.ms += script.action.wait_ms;
    script.action = list_watch_timer(script.list_watch, script.now.ms);
    list_watch_script_answer(&script, &again, 0);
}

static void test_the_guard_judges_other_incarnations_that_the_watch_shows_first(void **state)
{
    (void)state;
    begin(&guarded);
    opens(EVENT("ADDED", "a", "u7", "8") EVENT("ADDED", "b", "u8", "9"));
    heard("");
    falls_silent();
    asks_beside(PATH "?limit=500");
    assert_false(lists(LIST_OF(ITEM("a", "u7", "8", "") "," ITEM("b", "u8", "9", ""))));
    heard("");
    ends("WAIT");
    assert_int_equal(status().state, REFLECTOR_HELD);
}

/* ---- No watch at all. */

static void test_an_api_without_the_verb_watch_has_its_own_error(void **state)
{
    static const struct answer answers[] = {
        LISTED,
        {.code = 405,
          .body = STATUS("405",                "MethodNotAllowed", "not allowed"),
          .next = "WAIT 600000, " WATCH_ALL},
        {.code = 405, .body = "method not allowed\n", .next = "WAIT 600000, " WATCH_ALL        },
    };

    (void)state;
    list_watch_script_restart(&script, &plain);
    list_watch_script_play(&script, answers, ARRAY_LEN(answers));
    assert_int_equal(status().err->kind, ERR_NO_VERB);
    assert_string_equal(status().err->text,
                        "v1 configmaps cannot be watched: the API has no watch verb");
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, set_up, clean_up)
    const struct CMUnitTest tests[] = {
        T(test_a_list_without_a_version_is_a_sync),
        T(test_a_body_without_version_and_items_is_no_list),
        T(test_without_a_version_on_its_first_page_a_list_has_none),
        T(test_initial_events_in_any_order_change_nothing_that_was_listed),
        T(test_the_watch_follows_only_when_deleted_objects_are_known),
        T(test_a_busy_watch_is_compared_too),
        T(test_objects_deleted_before_the_watch_began_are_found),
        T(test_a_list_does_not_bring_back_deleted_objects),
        T(test_a_list_does_not_delete_objects_that_the_watch_added),
        T(test_a_list_does_not_change_the_state_of_an_object),
        T(test_a_list_with_another_incarnation_ends_the_one_before),
        T(test_all_pages_count_and_their_tokens_are_followed),
        T(test_another_incarnation_comes_with_the_deleted_objects),
        T(test_another_incarnation_that_the_watch_deletes_ends_both),
        T(test_objects_without_a_version_are_compared_by_their_bytes),
        T(test_the_next_watch_has_no_version_either_and_a_list_beside_it),
        T(test_beside_silent_watches_a_list_comes_instead_of_a_probe),
        T(test_a_watch_that_ends_before_its_list_is_listed_first),
        T(test_watches_that_keep_ending_before_their_list_wait),
        T(test_the_next_watch_begins_at_the_version_of_a_bookmark),
        T(test_a_bookmark_counts_only_with_the_list),
        T(test_a_bookmark_before_an_error_does_not_count),
        T(test_a_probe_without_a_version_leads_to_a_list),
        T(test_a_delete_needs_no_version),
        T(test_the_next_watch_begins_at_the_version_of_a_list_that_has_one_again),
        T(test_a_list_that_fails_ends_the_watch),
        T(test_pages_that_expire_are_not_asked_for_again),
        T(test_the_guard_judges_deletes_that_the_list_beside_finds),
        T(test_the_guard_judges_other_incarnations_that_the_watch_shows_first),
        T(test_an_api_without_the_verb_watch_has_its_own_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
