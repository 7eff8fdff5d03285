/* SPDX-License-Identifier: Apache-2.0 */
/* Events of a watch with keep and match, and of one that asked for PartialObjectMetadata. */
#include "kube/event.h"

#include "body_pieces.h"
#include "event_text.h"
#include "json_ref.h"

#include <string.h>

#include "kube/shape.h"

static struct buf said; /* one line an event */
static struct object_rules rules = {"Pod", "v1", 1000, NULL, false};

static void take(const struct event *e)
{
    event_text_put(&said, e);
    if (e->object != NULL) {
        assert_true(str_is(object_kind(e->object), "Pod"));
        assert_true(str_is(object_api_version(e->object), "v1"));
    }
}

static int clear(void **state)
{
    (void)state;
    buf_free(&said);
    rules = (struct object_rules){"Pod", "v1", 1000, NULL, false};
    return 0;
}

static enum err_kind feed(void *reader, const char *data, size_t n, struct err *err)
{
    enum err_kind kind = event_reader_feed(reader, data, n, err);
    const struct event *e;

    while ((e = event_reader_next(reader)) != NULL)
        take(e);
    return kind;
}

/* In pieces of any size. */
static void assert_said(const char *body, const char *want)
{
    for (size_t piece = 1; piece <= strlen(body); piece++) {
        struct event_reader *r = event_reader_create(&rules);

        buf_clear(&said);
        assert_int_equal(body_pieces_feed(str_c(body), piece, piece, feed, r, NULL), ERR_OK);
        event_reader_destroy(&r);
        assert_string_equal(buf_cstr(&said), want);
    }
}

#define POD(name, rv)                                                        \
    "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"" name \
    "\",\"resourceVersion\":\"" rv "\"}}"

static struct shape *shape_of(const char *keep, const char *match)
{
    const struct shape_params p = {
        .keep = &keep, .keep_count = 1, .match = &match, .match_count = 1};
    struct shape *s = NULL;

    assert_int_equal(shape_create(&p, &s, NULL), ERR_OK);
    return s;
}

static void test_pruned_and_selected(void **state)
{
    struct shape *shape = shape_of("spec.a", "spec.b=1");

    (void)state;
    rules.shape = shape;
    assert_said("{\"type\":\"ADDED\",\"object\":{\"spec\":{\"b\":1,\"a\":2},\"kind\":\"Pod\","
                "\"metadata\":{\"labels\":{},\"name\":\"a\",\"resourceVersion\":\"1\"}}}\n"
                "{\"type\":\"DELETED\",\"object\":" POD("a", "2") "}\n",
                "ADDED {\"apiVersion\":\"v1\",\"spec\":{\"a\":2},\"kind\":\"Pod\",\"metadata\":{"
                "\"name\":\"a\",\"resourceVersion\":\"1\"}} rv=1\n"
                "DELETED (not selected) " POD("a", "2") " rv=2\n");
    shape_destroy(&shape);
}

/* A value that is no object stays whole, and the order of members makes no difference. */
static void test_pruning_spares_bookmarks_and_errors(void **state)
{
    struct shape *shape = shape_of("spec.a", "!spec.b");

    (void)state;
    rules.shape = shape;
    assert_said("{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"metadata\":{},\"message\":"
                "\"too old\",\"reason\":\"Expired\",\"code\":410}}"
                "{\"object\":{\"code\":410,\"kind\":\"Status\",\"message\":\"too old\","
                "\"reason\":\"Expired\"},\"type\":\"ERROR\"}"
                "{\"object\":{\"kind\":\"Pod\",\"metadata\":{\"resourceVersion\":\"11\","
                "\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}}},\"type\":\"BOOKMARK\"}"
                "{\"object\":{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"a\","
                "\"managedFields\":[],\"generation\":3,\"resourceVersion\":\"12\"},\"status\":7},"
                "\"type\":\"ADDED\"}"
                "{\"object\":{\"kind\":\"Node\",\"metadata\":{\"name\":\"a\"}},\"type\":\"ADDED\"}"
                "{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"Pod\",\"metadata\":{"
                "\"resourceVersion\":\"13\",\"annotations\":{\"k8s.io/initial-events-end\":"
                "\"true\"}}}}",
                "ERROR rv= 410 Expired too old\n"
                "ERROR rv= 410 Expired too old\n"
                "BOOKMARK rv=11 end\n"
                "ADDED " POD("a", "12") " rv=12\n"
                                        "UNUSABLE rv= a: its kind is not that of the watch\n"
                                        "BOOKMARK rv=13 end\n");
    shape_destroy(&shape);
}

/* ---- With PartialObjectMetadata asked for. */

#define TYPED(kind, version, rest) \
    "{\"kind\":\"" kind "\",\"apiVersion\":\"" version "\",\"metadata\":{" rest "}"
#define NAMED(rv) "\"name\":\"a\",\"resourceVersion\":\"" rv "\""

static void test_partial_or_not_is_the_same(void **state)
{
    struct shape *shape = shape_of("metadata.labels", "metadata.name=a");

    (void)state;
    rules.shape = shape;
    rules.partial = true;
    assert_said(
        "{\"type\":\"ADDED\",\"object\":" TYPED(
            "PartialObjectMetadata", "meta.k8s.io/v1",
            NAMED("1")) "}}\n"
                        "{\"type\":\"MODIFIED\",\"object\":" TYPED(
                            "PartialObjectMetadata", "meta.k8s.io/v1beta1",
                            NAMED(
                                "2")) "}}\n"
                                      "{\"type\":\"MODIFIED\",\"object\":" TYPED(
                                          "Pod", "v1",
                                          NAMED(
                                              "3")) ",\"spec\":{}}}\n"
                                                    "{\"object\":{\"spec\":1,\"apiVersion\":\"meta."
                                                    "k8s.io/v1\",\"metadata\":{" NAMED(
                                                        "4") "},\"kind\":\"PartialObjectMetadata\"}"
                                                             ",\"type\":\"DELETED\"}"
                                                             "{\"type\":\"BOOKMARK\","
                                                             "\"object\":" TYPED(
                                                                 "PartialObjectMetadata",
                                                                 "meta.k8s.io/v1",
                                                                 "\"resourceVersion\":\"5\"") "}}",
        "ADDED " POD("a", "1") " rv=1\nMODIFIED " POD(
            "a", "2") " rv=2\n"
                      "MODIFIED " POD("a", "3") " rv=3\nDELETED " POD(
                          "a", "4") " rv=4\nBOOKMARK rv=5\n");
    shape_destroy(&shape);
}

static void test_partial_spares_a_status(void **state)
{
    (void)state;
    rules.partial = true;
    assert_said(
        "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"message\":\"old\",\"code\":410}}"
        "{\"object\":" POD("a", "1") ",\"type\":\"ERROR\"}"
                                     "{\"type\":\"ERROR\",\"object\":" POD("a", "1") "}",
        "ERROR rv= 410  old\n"
        "ERROR rv= 0  a Pod instead of a Status\n"
        "ERROR rv= 0  a Pod instead of a Status\n");
}

static void test_partial_metadata_needs_the_kind_of_the_watch(void **state)
{
#define ADDED(object) "{\"type\":\"ADDED\",\"object\":" object "}}"
    static const char body[] = ADDED(TYPED("PartialObjectMetadata", "meta.k8s.io/v1", NAMED("1")))
        ADDED(TYPED("PartialObjectMetadata", "v1", NAMED("2")))
            ADDED(TYPED("Node", "v1", NAMED("3")));

    (void)state;
    assert_said(body, "UNUSABLE rv= a: its kind is not that of the watch\n"
                      "UNUSABLE rv= a: its kind is not that of the watch\n"
                      "UNUSABLE rv= a: its kind is not that of the watch\n");
    rules.partial = true;
    assert_said(body, "ADDED " POD("a", "1") " rv=1\n"
                                             "UNUSABLE rv= a: its kind is not that of the watch\n"
                                             "UNUSABLE rv= a: its kind is not that of the watch\n");
    rules.kind = NULL;
    assert_said(ADDED(TYPED("PartialObjectMetadata", "meta.k8s.io/v1", NAMED("1")))
                    ADDED(TYPED("Pod", "v1", NAMED("3"))),
                "UNUSABLE rv= a: it is a PartialObjectMetadata: the kind must be known to read it\n"
                "ADDED " POD("a", "3") " rv=3\n");
}

/* An object over object_size is too large even if nothing of it would stay, in either order. */
static void test_object_size_bounds_the_object_as_sent(void **state)
{
    struct shape *shape = shape_of("spec.a", "spec.b");
    struct buf object = {0};
    struct err err;

    (void)state;
    rules.shape = shape;
    buf_printf(&object,
               "{\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"1\"},\"x\":\"%0900d\"}", 1);
    for (size_t i = 0; i < 4; i++) {
        struct event_reader *r;
        char *body =
            mem_printf("{\"%s\":%s,\"%s\":%s}", i % 2 == 0 ? "type" : "object",
                       i % 2 == 0 ? "\"ADDED\"" : buf_cstr(&object), i % 2 == 0 ? "object" : "type",
                       i % 2 == 0 ? buf_cstr(&object) : "\"ADDED\"");

        rules.object_size = object.len - i / 2;
        r = event_reader_create(&rules);
        buf_clear(&said);
        assert_int_equal(feed(r, body, strlen(body), &err), ERR_OK);
        assert_non_null(strstr(buf_cstr(&said), i < 2 ? "ADDED " : "UNUSABLE rv=1 a: "));
        event_reader_destroy(&r);
        free(body);
    }
    buf_free(&object);
    shape_destroy(&shape);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_pruned_and_selected, clear),
        cmocka_unit_test_teardown(test_pruning_spares_bookmarks_and_errors, clear),
        cmocka_unit_test_teardown(test_partial_or_not_is_the_same, clear),
        cmocka_unit_test_teardown(test_partial_spares_a_status, clear),
        cmocka_unit_test_teardown(test_partial_metadata_needs_the_kind_of_the_watch, clear),
        cmocka_unit_test_teardown(test_object_size_bounds_the_object_as_sent, clear),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
