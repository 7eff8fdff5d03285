/* SPDX-License-Identifier: Apache-2.0 */
/* cache/list_watch: objects that match leaves out, and the requests of a watch of metadata alone
 * (docs/design.md "Selection and pruning", docs/kubernetes-protocol.md "PartialObjectMetadata"). */
#include "list_watch_script.h"

static const struct list_watch_script_setup on_only = {.watch_list = WATCH_LIST_OFF,
                                                       .match = "data.on=yes"};
static const struct list_watch_script_setup on_streams = {.watch_list = WATCH_LIST_ON,
                                                          .match = "data.on=yes"};

#define OK .code = 200
#define CHECK(setup, ...)                                               \
    do {                                                                \
        static const struct answer answers[] = {__VA_ARGS__};           \
        list_watch_script_check(&(setup), answers, ARRAY_LEN(answers)); \
    } while (0)
#define ON                              "\"on\":\"yes\""
#define OFF                             "\"on\":\"no\""
#define SAYS(type, name, uid, rv, data) EVENT_OF(type, "ConfigMap", name, uid, rv, data)
#define LISTED                                                                              \
    {                                                                                       \
        OK, .body = PAGE("10", "", ITEM("a", "u1", "3", ON) "," ITEM("b", "u2", "4", OFF)), \
            .heard = "+ns/a:u1:3", .next = WATCH("10")                                      \
    }

static void test_a_watch_reports_left_with_the_last_state_that_was_selected(void **state)
{
    (void)state;
    CHECK(on_only, LISTED,
          {OK,
           .body = SAYS("MODIFIED", "b", "u2", "11", OFF) SAYS("MODIFIED", "a", "u1", "12", OFF)
               SAYS("MODIFIED", "a", "u1", "13", OFF) SAYS("MODIFIED", "b", "u2", "14", ON),
           .heard = "xns/a:u1:3 +ns/b:u2:14", .next = WATCH("14")});
}

static void test_a_relist_reports_left_for_objects_that_still_exist(void **state)
{
    (void)state;
    CHECK(on_only, LISTED,
          {OK, .body = BOOKMARK("11") ERROR_EVENT("500", "InternalError", "x"),
           .next = "WAIT 800, " LIST_FROM("11")},
          {OK, .body = PAGE("20", "", ITEM("a", "u1", "12", OFF) "," ITEM("c", "u3", "13", ON)),
           .heard = "xns/a:u1:3 +ns/c:u3:13", .next = WATCH("20")});
}

static void test_another_incarnation_that_is_not_selected_is_a_delete(void **state)
{
    (void)state;
    CHECK(on_only, LISTED,
          {OK, .body = SAYS("ADDED", "a", "u9", "12", OFF), .heard = "-ns/a:u1:3?",
           .next = WATCH("12")});
    CHECK(on_only, LISTED,
          {OK, .body = BOOKMARK("11") ERROR_EVENT("500", "InternalError", "x"),
           .next = "WAIT 800, " LIST_FROM("11")},
          {OK, .body = PAGE("20", "", ITEM("a", "u9", "12", OFF)), .heard = "-ns/a:u1:3?",
           .next = WATCH("20")});
}

static void test_a_delete_stays_a_delete_whatever_match_says(void **state)
{
    (void)state;
    CHECK(on_only, LISTED,
          {OK, .body = SAYS("DELETED", "a", "u1", "12", OFF) SAYS("DELETED", "b", "u2", "13", ON),
           .heard = "-ns/a:u1:12", .next = WATCH("13")});
}

static void test_initial_events_select_too(void **state)
{
    (void)state;
    CHECK(on_streams,
          {OK,
           .body = SAYS("ADDED", "a", "u1", "3", ON) SAYS("ADDED", "b", "u2", "4", OFF)
               SAYS("ADDED", "c", "u3", "5", ON) INITIAL_END("10"),
           .heard = "+ns/a:u1:3 +ns/c:u3:5", .next = WATCH("10")},
          {OK, .body = BOOKMARK("11") ERROR_EVENT("500", "InternalError", "x"),
           .next = "WAIT 800, " STREAM_FROM("11")},
          {OK,
           .body = SAYS("ADDED", "a", "u1", "12", OFF) SAYS("ADDED", "c", "u3", "13", OFF)
               SAYS("DELETED", "c", "u3", "14", OFF) INITIAL_END("20"),
           .heard = "xns/a:u1:3 -ns/c:u3:5?", .next = WATCH("20")});
}

/* ---- PartialObjectMetadata. */

#define AS      "application/json;as=PartialObjectMetadata"
#define AS_REST ";g=meta.k8s.io;v=v1,application/json"

static void answers(struct list_watch_script *t, const char *page, enum list_watch_do next,
                    const char *accept)
{
    t->now.ms += 2000;
    t->action = objects_answer(t->list_watch, page, t->now);
    assert_int_equal(t->action.what, next);
    if (accept == NULL)
        assert_null(t->action.accept);
    else
        assert_string_equal(t->action.accept, accept);
}

static void check_accepts(const struct list_watch_script_setup *setup, const char *list,
                          const char *events)
{
    struct list_watch_script t;

    list_watch_script_init(&t, setup);
    answers(&t, PAGE("10", "t", ""), LW_LIST, list);
    answers(&t, PAGE("10", "", ""), LW_WATCH, events);
    answers(&t, "\n", LW_WATCH, events);
    answers(&t, "\n", LW_LIST, list); /* a probe */
    answers(&t, PAGE("5", "", ""), LW_LIST, list);
    if (list == NULL)
        assert_null(list_watch_accept(t.list_watch));
    else
        assert_string_equal(list_watch_accept(t.list_watch), list);
    list_watch_script_fini(&t);
}

static void test_metadata_alone_is_asked_for_as_such(void **state)
{
    static const struct list_watch_script_setup labels = {.watch_list = WATCH_LIST_OFF,
                                                          .keep = "metadata.labels"};
    static const struct list_watch_script_setup data = {.watch_list = WATCH_LIST_OFF,
                                                        .keep = "data"};
    static const struct list_watch_script_setup both = {
        .watch_list = WATCH_LIST_OFF, .keep = "metadata.labels", .match = "data.on=yes"};
    static const struct list_watch_script_setup all = {.watch_list = WATCH_LIST_OFF};

    (void)state;
    check_accepts(&labels, AS "List" AS_REST, AS AS_REST);
    check_accepts(&data, NULL, NULL);
    check_accepts(&both, NULL, NULL);
    check_accepts(&all, NULL, NULL);
}

static void test_metadata_alone_is_streamed_as_such(void **state)
{
    static const struct list_watch_script_setup streams = {.watch_list = WATCH_LIST_ON,
                                                           .keep = "metadata.labels"};
    struct list_watch_script t;

    (void)state;
    list_watch_script_init(&t, &streams);
    assert_int_equal(t.action.what, LW_STREAM);
    assert_string_equal(t.action.accept, AS AS_REST);
    list_watch_script_fini(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_watch_reports_left_with_the_last_state_that_was_selected),
        cmocka_unit_test(test_a_relist_reports_left_for_objects_that_still_exist),
        cmocka_unit_test(test_another_incarnation_that_is_not_selected_is_a_delete),
        cmocka_unit_test(test_a_delete_stays_a_delete_whatever_match_says),
        cmocka_unit_test(test_initial_events_select_too),
        cmocka_unit_test(test_metadata_alone_is_asked_for_as_such),
        cmocka_unit_test(test_metadata_alone_is_streamed_as_such),
    };

    return cmocka_run_group_tests(tests, list_watch_script_be_quiet, NULL);
}
