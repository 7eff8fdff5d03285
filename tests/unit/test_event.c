/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/event.h"

#include "body_pieces.h"
#include "campaign.h"
#include "event_text.h"
#include "json_ref.h"

#include <string.h>

/* The events that a reader had, one line each. */
static struct buf said;
static struct object *last;

static void take(const struct event *e)
{
    event_text_put(&said, e);
    if (e->object != NULL) {
        assert_true(e->selected);
        object_unref(&last);
        last = object_ref(e->object);
    }
}

static struct event_reader *reader_of(size_t object_size)
{
    const struct object_rules other = {"Pod", "v1", object_size, NULL, false};

    return event_reader_create(&other);
}

static int clear(void **state)
{
    (void)state;
    buf_free(&said);
    object_unref(&last);
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

static enum err_kind read_in_pieces(struct str body, size_t first, size_t piece, struct err *err)
{
    struct event_reader *r = reader_of(1000);

    buf_clear(&said);
    enum err_kind kind = body_pieces_feed(body, first, piece, feed, r, err);
    event_reader_destroy(&r);
    assert_null(r);
    event_reader_destroy(&r);
    return kind;
}

static void assert_said(const char *body, const char *want)
{
    body_pieces_check(body, read_in_pieces, &said, want);
}

#define POD(name, rv)                                                        \
    "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"" name \
    "\",\"resourceVersion\":\"" rv "\"}}"

static void test_a_stream(void **state)
{
    (void)state;
    assert_said(
        "{\"type\":\"ADDED\",\"object\":" POD(
            "a",
            "1") "}\n"
                 "{\"type\":\"MODIFIED\",\"object\":" POD(
                     "a",
                     "2") "}\n"
                          "{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"Pod\",\"apiVersion\":"
                          "\"v1\","
                          "\"metadata\":{\"resourceVersion\":\"4\",\"creationTimestamp\":null}}}\n"
                          "{\"type\":\"DELETED\",\"object\":" POD("a", "5") "}\n",
        "ADDED " POD("a", "1") " rv=1\n"
                               "MODIFIED " POD("a", "2") " rv=2\n"
                                                         "BOOKMARK rv=4\n"
                                                         "DELETED " POD("a", "5") " rv=5\n");
}

/* Depth alone delimits frames; members come in any order, and unknown ones are passed over. */
static void test_frames_by_depth(void **state)
{
    (void)state;
    assert_said(
        "{\"object\":" POD(
            "a", "1") ",\"type\":\"ADDED\"}"
                      "{\"x\":{\"type\":\"y\",\"object\":{}},\n\n\"t\\u0079pe\" : \"ADDED\" ,\n"
                      "\"object\":" POD("b", "2") ",\"z\":[{}]}\n\n \r\n"
                                                  "{\"type\":\"DELETED\",\"object\":" POD("a",
                                                                                          "3") "}",
        "ADDED " POD("a", "1") " rv=1\n"
                               "ADDED " POD("b", "2") " rv=2\n"
                                                      "DELETED " POD("a", "3") " rv=3\n");
}

static void test_bookmarks(void **state)
{
    (void)state;
    assert_said(
        "{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"Pod\",\"apiVersion\":\"v1\","
        "\"metadata\":{\"resourceVersion\":\"9\",\"annotations\":{\"kubernetes.io/"
        "initial-events-list-blueprint\":\"e30=\",\"k8s.io/initial-events-end\":\"true\"}}}}"
        "{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"Node\",\"apiVersion\":\"v1\","
        "\"metadata\":{\"resourceVersion\":\"10\"}}}"
        "{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"Pod\",\"apiVersion\":\"v1\","
        "\"metadata\":{}}}"
        "{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"Pod\",\"apiVersion\":\"v1\","
        "\"metadata\":{\"resourceVersion\":\"0\"}}}"
        "{\"object\":{\"kind\":\"Pod\",\"metadata\":{\"resourceVersion\":\"11\","
        "\"annotations\":{\"k8s.io/initial-events-end\":\"false\"}}},\"type\":\"BOOKMARK\"}",
        "BOOKMARK rv=9 end\n"
        "SKIPPED rv= : its kind is not that of the watch\n"
        "SKIPPED rv= : it has no metadata.resourceVersion\n"
        "SKIPPED rv= : its metadata.resourceVersion is 0\n"
        "BOOKMARK rv=11\n");
}

static void test_errors_in_the_stream(void **state)
{
    (void)state;
    assert_said("{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"apiVersion\":\"v1\","
                "\"metadata\":{},\"status\":\"Failure\",\"message\":\"too old resource version: 1 "
                "(2)\",\"reason\":\"Expired\",\"code\":410}}\n",
                "ERROR rv= 410 Expired too old resource version: 1 (2)\n");
    assert_said("{\"object\":{\"kind\":\"Status\",\"code\":500},\"type\":\"ERROR\"}\n",
                "ERROR rv= 500  \n");
    assert_said("{\"type\":\"ERROR\",\"object\":" POD("a", "1") "}",
                "ERROR rv= 0  a Pod instead of a Status\n");
    assert_said("{\"type\":\"ERROR\",\"object\":{}}", "ERROR rv= 0  JSON that is no Status\n");
}

static void test_skipped_and_unusable_events(void **state)
{
    (void)state;
    assert_said("{\"type\":\"ADDED\",\"object\":{\"kind\":\"Node\",\"apiVersion\":\"v1\","
                "\"metadata\":{\"name\":\"n\",\"resourceVersion\":\"1\"}}}"
                "{\"type\":\"ADDED\",\"object\":{\"kind\":\"Pod\",\"apiVersion\":\"v2\","
                "\"metadata\":{\"name\":\"n\",\"resourceVersion\":\"1\"}}}"
                "{\"type\":\"ADDED\",\"object\":{\"kind\":\"Pod\",\"apiVersion\":\"v1\"}}"
                "{\"type\":\"ADDED\",\"object\":{\"kind\":\"Pod\",\"apiVersion\":\"v1\","
                "\"metadata\":{\"name\":\"n\",\"namespace\":\"m\"}}}"
                "{\"type\":\"ADDED\",\"object\":{\"kind\":\"Pod\",\"apiVersion\":\"v1\","
                "\"metadata\":{\"name\":\"n\",\"resourceVersion\":1}}}"
                "{\"type\":\"ADDED\",\"object\":" POD("a", "2") "}",
                "UNUSABLE rv= n: its kind is not that of the watch\n"
                "UNUSABLE rv= n: its apiVersion is not that of the watch\n"
                "UNUSABLE rv= : it has no metadata.name\n"
                "ADDED {\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"n\","
                "\"namespace\":\"m\"}} rv=\n"
                "UNUSABLE rv= n: its metadata.resourceVersion is wrong\n"
                "ADDED " POD("a", "2") " rv=2\n");
}

static void test_kind_is_completed(void **state)
{
    (void)state;
    assert_said("{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"a\",\"resourceVersion\":"
                "\"1\"}}}",
                "ADDED " POD("a", "1") " rv=1\n");
}

static void test_any_kind(void **state)
{
    static const char body[] = "{\"type\":\"ADDED\",\"object\":" POD(
        "a", "1") "}"
                  "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"a\"}}}";
    struct event_reader *r = event_reader_create(&(struct object_rules){.object_size = 1000});

    (void)state;
    assert_int_equal(feed(r, body, sizeof(body) - 1, NULL), ERR_OK);
    assert_string_equal(buf_cstr(&said), "ADDED " POD("a", "1") " rv=1\n"
                                                                "UNUSABLE rv= a: it has no kind\n");
    event_reader_destroy(&r);
}

static void test_bodies_that_are_no_events(void **state)
{
    static const char *const cases[][2] = {
        {"[]",                                               "not a JSON object"            },
        {"\"x\"",                                            "not a JSON object"            },
        {"12 ",                                              "not a JSON object"            },
        {"{}",                                               "no type in it"                },
        {"{\"type\":\"ADDED\"}",                             "no object in it"              },
        {"{\"object\":{}}",                                  "no type in it"                },
        {"{\"type\":\"GONE\",\"object\":{}}",                "unknown type"                 },
        {"{\"type\":1,\"object\":{}}",                       "not one type"                 },
        {"{\"type\":{\"a\":\"ADDED\"},\"object\":{}}",       "not one type"                 },
        {"{\"type\":\"ADDED\",\"type\":\"DELETED\"}",        "not one type"                 },
        {"{\"type\":\"ADDED\",\"object\":null}",             "not one object in it"         },
        {"{\"type\":\"ADDED\",\"object\":[{}]}",             "not one object in it"         },
        {"{\"type\":\"ADDED\",\"object\":{},\"object\":{}}", "not one object in it"         },
        {"{\"kind\":\"Status\",\"code\":410}",               "no type in it"                },
        {"{\"type\":\"ADDED\",\"object\":{]",                "not valid JSON"               },
        {"<html>",                                           "an HTML or XML page, not JSON"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        for (size_t piece = 1; piece <= strlen(cases[i][0]); piece++) {
            struct err err = {0};

            assert_int_equal(read_in_pieces(str_c(cases[i][0]), piece, piece, &err), ERR_PROTOCOL);
            assert_int_equal(err.kind, ERR_PROTOCOL);
            assert_ptr_equal(strstr(err.text, "watch event: "), err.text);
            assert_non_null(strstr(err.text, cases[i][1]));
            assert_int_equal(said.len, 0);
        }
}

/* object_size is 1000 here, and a frame may have 4096 bytes more. */
static void test_limits(void **state)
{
    struct buf body = {0};
    struct err err;

    (void)state;
    for (int over = 0; over < 2; over++) {
        buf_clear(&body);
        buf_puts(&body, "{\"type\":\"ADDED\",\"object\":");
        size_t head = body.len;
        buf_puts(&body, "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"a\","
                        "\"resourceVersion\":\"1\"},\"x\":\"");
        while (body.len - head < 1000 - 2 + (size_t)over)
            buf_putc(&body, 'x');
        buf_puts(&body, "\"}}");
        for (size_t piece = 1; piece <= body.len; piece += 13) {
            assert_int_equal(read_in_pieces(buf_str(&body), piece, piece, &err), ERR_OK);
            assert_int_equal(strncmp(buf_cstr(&said), over == 0 ? "ADDED" : "UNUSABLE rv=1 a: ", 5),
                             0);
        }
    }
    assert_string_equal(buf_cstr(&said), "UNUSABLE rv=1 a: it is larger than limits.object_size\n");
    for (int over = 0; over < 2; over++) {
        buf_clear(&body);
        buf_puts(&body, " \n{\"type\":\"ADDED\",\"object\":" POD("a", "1") ",\"x\":\"");
        while (body.len < 2 + 1000 + 4096 - 2 + (size_t)over)
            buf_putc(&body, 'x');
        buf_puts(&body, "\"}  ");
        for (size_t piece = 1; piece <= body.len; piece += 97)
            assert_int_equal(read_in_pieces(buf_str(&body), piece, piece, &err),
                             over == 0 ? ERR_OK : ERR_TOO_BIG);
    }
    buf_free(&body);
}

/* A body without an end is an error after object_size bytes, or after 64 MiB more inside an object;
 * white space may go on. */
static void test_endless(void **state)
{
    static const char *const starts[] = {"{\"type\":\"ADDED\",\"object\":{\"x\":\"", "\"", "1",
                                         "{\"type\":\"ADDED\",\"object\":{\"x\":[1"};
    static const char *const more[] = {"xxxxxxxxxxxxxxxx", "xxxxxxxxxxxxxxxx", "0000000000000000",
                                       ",1,1,1,1,1,1,1,1"};
    static const size_t skips[] = {64 << 20, 0, 0, 64 << 20};
    struct err err;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(starts); i++) {
        struct event_reader *r = reader_of(1 << 20);
        enum err_kind kind = event_reader_feed(r, starts[i], strlen(starts[i]), &err);
        size_t fed = 0;

        for (; kind == ERR_OK && fed < 80 << 20; fed += 16)
            kind = event_reader_feed(r, more[i], 16, &err);
        assert_int_equal(kind, ERR_TOO_BIG);
        assert_true(fed <= (1 << 20) + skips[i] + 4096 + 32);
        event_reader_destroy(&r);
    }
    struct event_reader *r = reader_of(1 << 10);
    for (int i = 0; i < 10000; i++)
        assert_int_equal(event_reader_feed(r, "\n   ", 4, &err), ERR_OK);
    event_reader_destroy(&r);
}

/* One chunk has them all. The texts of each event are its own: the reader has gone on since. */
static void test_events_before_an_error_wait_in_order(void **state)
{
    static const char body[] = "{\"type\":\"ADDED\",\"object\":" POD(
        "a", "1") "}"
                  "{\"type\":\"MODIFIED\",\"object\":{\"kind\":\"Node\",\"apiVersion\":\"v1\","
                  "\"metadata\":{\"name\":\"n\"}}}"
                  "{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"Pod\",\"apiVersion\":\"v1\","
                  "\"metadata\":{\"resourceVersion\":\"4\"}}}"
                  "{\"type\":\"DELETED\",\"object\":" POD("a", "5") "}"
                                                                    "{\"type\":\"GONE\"}";
    struct err err;

    (void)state;
    assert_int_equal(read_in_pieces(str_c(body), sizeof(body) - 1, 1, &err), ERR_PROTOCOL);
    assert_string_equal(buf_cstr(&said),
                        "ADDED " POD("a", "1") " rv=1\n"
                                               "UNUSABLE rv= n: its kind is not that of the watch\n"
                                               "BOOKMARK rv=4\n"
                                               "DELETED " POD("a", "5") " rv=5\n");
}

static void test_events_that_nobody_takes_are_freed(void **state)
{
    static const char body[] = "{\"type\":\"ADDED\",\"object\":" POD(
        "a", "1") "}"
                  "{\"type\":\"ADDED\",\"object\":" POD("b", "2") "}";
    struct event_reader *r = reader_of(1000);

    (void)state;
    assert_int_equal(event_reader_feed(r, body, sizeof(body) - 1, NULL), ERR_OK);
    assert_true(str_is(object_name(event_reader_next(r)->object), "a"));
    event_reader_destroy(&r); /* LeakSanitizer looks at the end of the test */
    assert_null(r);
}

/* Random objects in frames that follow each other: cut anywhere, the same events come. */
static void test_random_streams(void **state)
{
    static struct gen gen;
    struct buf body = {0};
    struct buf want = {0};
    struct err err;

    (void)state;
    for (uint64_t seed = 0; seed < campaign_size(25, 100); seed++) {
        rng_seed(&gen.rng, seed);
        buf_clear(&body);
        buf_clear(&want);
        for (int i = 0; i < 4; i++) {
            bool type_first = gen_below(&gen, 2) == 0;

            gen_clear(&gen);
            gen_value(&gen, 0, 3);
            if (gen.text.len > 800) /* an object of 1000 bytes is too big */
                continue;
            buf_printf(&body,
                       "{%s\"object\":{\"kind\":\"Pod\",\"spec\":%s,\"metadata\":{\"name\":"
                       "\"p%d\",\"managedFields\":%s,\"resourceVersion\":\"%d\"},"
                       "\"apiVersion\":\"v1\"}%s}%s",
                       type_first ? "\"type\":\"ADDED\"," : "", buf_cstr(&gen.text), i, "[{}]", i,
                       type_first ? "" : ",\"type\":\"ADDED\"", i % 2 == 0 ? "\n" : "");
            buf_printf(&want,
                       "ADDED {\"kind\":\"Pod\",\"spec\":%s,\"metadata\":{\"name\":\"p%d\","
                       "\"resourceVersion\":\"%d\"},\"apiVersion\":\"v1\"} rv=%d\n",
                       buf_cstr(&gen.text), i, i, i);
        }
        for (size_t cut = 0; cut < body.len; cut += 1 + gen_below(&gen, 4)) {
            assert_int_equal(read_in_pieces(buf_str(&body), cut, 1 + gen_below(&gen, 60), &err),
                             ERR_OK);
            assert_string_equal(buf_cstr(&said), buf_cstr(&want));
        }
    }
    buf_free(&body);
    buf_free(&want);
    gen_free(&gen);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_a_stream, clear),
        cmocka_unit_test_teardown(test_frames_by_depth, clear),
        cmocka_unit_test_teardown(test_bookmarks, clear),
        cmocka_unit_test_teardown(test_errors_in_the_stream, clear),
        cmocka_unit_test_teardown(test_skipped_and_unusable_events, clear),
        cmocka_unit_test_teardown(test_kind_is_completed, clear),
        cmocka_unit_test_teardown(test_any_kind, clear),
        cmocka_unit_test_teardown(test_bodies_that_are_no_events, clear),
        cmocka_unit_test_teardown(test_limits, clear),
        cmocka_unit_test_teardown(test_endless, clear),
        cmocka_unit_test_teardown(test_events_before_an_error_wait_in_order, clear),
        cmocka_unit_test_teardown(test_events_that_nobody_takes_are_freed, clear),
        cmocka_unit_test_teardown(test_random_streams, clear),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
