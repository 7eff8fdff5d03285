/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/list.h"

#include "body_pieces.h"
#include "json_ref.h"

#include <string.h>

#include "kube/event.h"
#include "kube/shape.h"

#define PAIR(text, wanted) \
    {                      \
        (text), (wanted)   \
    }

/* The items that a reader had, one line each, and the page in the last line. */
static struct buf said;
static struct object *last;

static void on_item(void *arg, struct object *o, bool selected)
{
    (void)arg;
    buf_puts(&said, selected ? "" : "not selected: ");
    object_put_json(&said, o);
    buf_putc(&said, '\n');
    object_unref(&last);
    last = object_ref(o);
}

static void on_unusable(void *arg, const struct unusable *u)
{
    (void)arg;
    buf_printf(&said, "unusable %.*s: %s\n", STR_ARG(u->key), u->why);
}

static const struct list_events events = {on_item, on_unusable};

static struct object_rules rules = {.object_size = 1000};

static int clear(void **state)
{
    (void)state;
    buf_free(&said);
    object_unref(&last);
    rules = (struct object_rules){.object_size = 1000};
    return 0;
}

static enum err_kind feed(void *reader, const char *data, size_t n, struct err *err)
{
    return list_reader_feed(reader, data, n, err);
}

static enum err_kind read_in_pieces(struct str body, size_t first, size_t piece, struct err *err)
{
    struct list_reader *r = list_reader_create(&rules, &events, NULL);
    struct list_page page;

    buf_clear(&said);
    enum err_kind kind = body_pieces_feed(body, first, piece, feed, r, err);
    if (kind == ERR_OK)
        kind = list_reader_end(r, &page, err);
    if (kind == ERR_OK)
        buf_printf(&said, "%zu+%zu %.*s rv=%.*s next=%.*s", page.items, page.skipped,
                   STR_ARG(page.kind), STR_ARG(page.rv), STR_ARG(page.next));
    list_reader_destroy(&r);
    assert_null(r);
    list_reader_destroy(&r);
    return kind;
}

static void assert_said(const char *body, const char *want)
{
    body_pieces_check(body, read_in_pieces, &said, want);
}

static void assert_fails(const char *body, enum err_kind kind, const char *text)
{
    for (size_t piece = 1; piece <= strlen(body) + 1; piece++) {
        struct err err = {0};

        assert_int_equal(read_in_pieces(str_c(body), piece, piece, &err), kind);
        assert_int_equal(err.kind, kind);
        err.text[strnlen(text, sizeof(err.text) - 1)] = '\0'; /* the beginning is enough */
        assert_string_equal(err.text, text);
    }
}

#define ITEM(name, rv) "{\"metadata\":{\"name\":\"" name "\",\"resourceVersion\":\"" rv "\"}}"
#define POD(name, rv)                                                        \
    "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"" name \
    "\",\"resourceVersion\":\"" rv "\"}}"
#define POD_LIST "{\"kind\":\"PodList\",\"apiVersion\":\"v1\","

static void test_built_in_type(void **state)
{
    (void)state;
    assert_said(POD_LIST
                "\"metadata\":{\"resourceVersion\":\"7\",\"continue\":\"abc\","
                "\"remainingItemCount\":5},\"items\":[" ITEM("a", "1") "," ITEM("b", "2") "]}\n",
                POD("a", "1") "\n" POD("b", "2") "\n2+0 Pod rv=7 next=abc");
}

/* The keys are sorted (apiVersion, items, kind, metadata), and each item has its kind. */
static void test_custom_resource(void **state)
{
    static const char item[] =
        "{\"apiVersion\":\"g/v1\",\"kind\":\"W\",\"metadata\":{\"name\":\"a\","
        "\"resourceVersion\":\"1\"}}";
    struct buf body = {0};
    struct buf want = {0};

    (void)state;
    buf_printf(&body,
               "{\"apiVersion\":\"g/v1\",\"items\":[%s],\"kind\":\"WList\",\"metadata\":"
               "{\"continue\":\"\",\"resourceVersion\":\"9\"}}",
               item);
    buf_printf(&want, "%s\n1+0 W rv=9 next=", item);
    assert_said(buf_cstr(&body), buf_cstr(&want));
    rules.kind = "W";
    rules.api_version = "g/v1";
    assert_said(buf_cstr(&body), buf_cstr(&want));
    buf_free(&body);
    buf_free(&want);
}

static void test_pretty_printed(void **state)
{
    (void)state;
    assert_said(
        "{\n  \"kind\": \"PodList\",\n  \"apiVersion\": \"v1\",\n  \"metadata\": {\n    "
        "\"resourceVersion\": \"7\"\n  },\n  \"items\": [\n    {\n      \"metadata\": {\n   "
        "     \"name\": \"a\",\n        \"managedFields\": [\n          {}\n        ]\n     "
        " }\n    }\n  ]\n}",
        "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\n      \"metadata\": {\n        \"name\": "
        "\"a\"\n      }\n    }\n1+0 Pod rv=7 next=");
}

static void test_empty(void **state)
{
    (void)state;
    assert_said(POD_LIST "\"metadata\":{\"resourceVersion\":\"7\"},\"items\":[]}",
                "0+0 Pod rv=7 next=");
    assert_said(POD_LIST "\"metadata\":{\"resourceVersion\":\"7\",\"continue\":null},"
                         "\"items\":null}",
                "0+0 Pod rv=7 next=");
    assert_said(POD_LIST "\"metadata\":{\"resourceVersion\":\"7\"}}", "0+0 Pod rv=7 next=");
    assert_said(
        "{\"x\":{\"items\":[1]},\"metadata\":{\"resourceVersion\":\"7\",\"x\":{\"continue\":"
        "\"no\"}},\"kind\":\"PodList\",\"items\":[],\"y\":[[{}],2]}",
        "0+0 Pod rv=7 next=");
}

/* The list item of a built-in type becomes the bytes of the watch event with the same object. */
static void test_same_bytes_as_watch_event(void **state)
{
#define REST                                                                                       \
    "\"metadata\":{\"name\":\"a\",\"namespace\":\"n\",\"resourceVersion\":\"5\",\"generation\":1," \
    "\"managedFields\":[{\"manager\":\"x\"}]},\"spec\":{\"a\":[1,2]}}"
    static const char list[] =
        POD_LIST "\"metadata\":{\"resourceVersion\":\"7\"},\"items\":[{" REST "]}";
    static const char event[] =
        "{\"type\":\"ADDED\",\"object\":{\"kind\":\"Pod\",\"apiVersion\":\"v1\"," REST "}\n";
    struct event_reader *r;
    struct buf out = {0};
    struct err err;

    (void)state;
    assert_int_equal(read_in_pieces(str_c(list), sizeof(list), 1, &err), ERR_OK);
    r = event_reader_create(&(struct object_rules){"Pod", "v1", 1000, NULL, false});
    assert_int_equal(event_reader_feed(r, event, sizeof(event) - 1, &err), ERR_OK);
    const struct event *e = event_reader_next(r);
    assert_non_null(e);
    assert_true(object_same(e->object, last));
    assert_true(digest_eq(object_digest(e->object), object_digest(last)));
    object_put_json(&out, e->object);
    buf_puts(&out, "\n1+0 Pod rv=7 next=");
    assert_string_equal(buf_cstr(&said), buf_cstr(&out));
    event_reader_destroy(&r);
    buf_free(&out);
}

static void test_too_big_items_are_skipped(void **state)
{
    struct buf body = {0};

    (void)state;
    rules.object_size = 100;
    buf_puts(&body, POD_LIST "\"metadata\":{\"resourceVersion\":\"7\"},\"items\":[" ITEM("a", "1"));
    for (int over = 0; over < 2; over++) {
        size_t head = body.len + 1;

        buf_puts(&body, ",{\"metadata\":{\"namespace\":\"n\",\"name\":\"big\"},\"x\":\"");
        while (body.len - head < 100 - 2 + (size_t)over)
            buf_putc(&body, 'x');
        buf_puts(&body, "\"}");
    }
    buf_puts(&body, "," ITEM("b", "2") "]}");
    assert_said(
        buf_cstr(&body),
        POD("a", "1") "\n{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"namespace\":"
                      "\"n\",\"name\":\"big\"},\"x\":"
                      "\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\"}\n"
                      "unusable n/big: it is larger than limits.object_size\n" POD(
                          "b", "2") "\n3+1 Pod rv=7 next=");
    buf_free(&body);
}

static void test_bodies_that_are_no_lists(void **state)
{
    static const char *const cases[][2] = {
        PAIR("", "list: the body is empty"),
        PAIR(" \n", "list: the body is empty"),
        PAIR("[]", "list: not a JSON object"),
        PAIR("12 ", "list: not a JSON object"),
        PAIR("<html>", "list: an HTML or XML page, not JSON"),
        PAIR("{\"paths\":[\"/api\"]}", "list: not a list: it has no kind"),
        PAIR("{\"kind\":\"Status\",\"code\":403}", "list: not a list but kind \"Status\""),
        PAIR("{\"kind\":\"Pod\",\"metadata\":{}}", "list: not a list but kind \"Pod\""),
        PAIR("{\"kind\":\"List\",\"items\":[]}", "list: not a list but kind \"List\""),
        PAIR("{\"kind\":\"Table\",\"apiVersion\":\"meta.k8s.io/v1\"}", "list: unsupported Table"),
        PAIR("{\"kind\":\"TableList\",\"apiVersion\":\"meta.k8s.io/v1\"}",
             "list: unsupported Table"),
        PAIR("{\"apiVersion\":\"meta.k8s.io/v1beta1\",\"kind\":\"TableList\"}",
             "list: unsupported Table"),
        PAIR("{\"kind\":7}", "list: its kind or apiVersion is wrong"),
        PAIR("{\"kind\":\"a\\nList\"}", "list: its kind or apiVersion is wrong"),
        PAIR(POD_LIST "\"items\":{}}", "list: its items are no array"),
        PAIR("{\"items\":[" ITEM("a", "1") "],\"kind\":\"PodList\"}",
             "list: item 0 does not say its kind, nor did the list before it"),
        PAIR(POD_LIST "\"metadata\":{\"resourceVersion\":7}}", "list: its metadata is wrong"),
        PAIR(POD_LIST "\"metadata\":{\"continue\":[]}}", "list: its metadata is wrong"),
        PAIR(POD_LIST "\"metadata\":{}}",
             "list: not a list: it has neither items nor a metadata.resourceVersion"),
        PAIR(POD_LIST "\"metadata\":[\"resourceVersion\",\"1\"],\"items\":[]}",
             "list: its metadata is wrong"),
        PAIR(POD_LIST "\"items\":[],\"items\":[]}", "list: it has items twice"),
        PAIR(POD_LIST "\"kind\":\"PodList\"}", "list: it has kind twice"),
        PAIR(POD_LIST "\"metadata\":{\"resourceVersion\":\"1\"},\"items\":[" ITEM("a", "1"),
             "list: JSON cut off inside a value at byte "),
        PAIR(POD_LIST "\"metadata\":{\"resourceVersion\":\"1\"}}{}",
             "list: something stands behind it"),
        PAIR(POD_LIST "\"metadata\":{\"resourceVersion\":\"1\"}} 7",
             "list: something stands behind it"),
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_fails(cases[i][0], ERR_PROTOCOL, cases[i][1]);
}

static void test_the_kind_and_api_version_that_were_expected(void **state)
{
    (void)state;
    rules.kind = "Pod";
    rules.api_version = "v1";
    assert_said("{\"items\":[" ITEM("a", "1") "],\"kind\":\"PodList\",\"apiVersion\":\"v1\","
                                              "\"metadata\":{\"resourceVersion\":\"1\"}}",
                POD("a", "1") "\n1+0 Pod rv=1 next=");
    assert_fails("{\"kind\":\"NodeList\",\"apiVersion\":\"v1\"}", ERR_PROTOCOL,
                 "list: wrong kind Node, expected Pod");
    assert_fails("{\"apiVersion\":\"v2\",\"kind\":\"PodList\"}", ERR_PROTOCOL,
                 "list: wrong apiVersion v2, expected v1");
}

static void test_everything_else_is_bounded(void **state)
{
    static const char *const starts[] = {"\"", "{\"", "{\"x\":\"", "{\"metadata\":{\"continue\":\"",
                                         POD_LIST "\"items\":[" ITEM("a", "1") "],\"x\":\""};
    struct buf body = {0};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(starts); i++) {
        struct err err;

        buf_clear(&body);
        buf_puts(&body, starts[i]);
        for (int k = 0; k < 5000; k++)
            buf_putc(&body, 'x');
        for (size_t piece = 1; piece <= 2 * body.len; piece *= 2)
            assert_int_equal(read_in_pieces(buf_str(&body), piece, piece, &err), ERR_TOO_BIG);
    }
    /* The same for an item that comes in one piece and is complete. */
    buf_clear(&body);
    buf_printf(&body,
               "{\"x\":\"%01001d\","
               "\"kind\":\"PodList\"}",
               0);
    assert_fails(buf_cstr(&body), ERR_TOO_BIG, "list: what stands beside its items is over");
    /* Many small items do not count as one large item, however they are separated. */
    buf_clear(&body);
    buf_puts(&body, POD_LIST "\"metadata\":{\"resourceVersion\":\"1\"},\"items\":[");
    for (int k = 0; k < 300; k++)
        buf_puts(&body, k == 0 ? ITEM("a", "1") : "\n      ,\n      " ITEM("a", "1"));
    buf_puts(&body, "]}");
    for (size_t piece = 1; piece <= 2 * body.len; piece *= 2) {
        struct err err;

        assert_int_equal(read_in_pieces(buf_str(&body), piece, piece, &err), ERR_OK);
    }
    buf_free(&body);
}

/* ---- With a shape, and with PartialObjectMetadataList asked for. */

#define PARTIAL "\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"meta.k8s.io/v1\","
#define PARTIAL_ITEM(name, rv) \
    "{" PARTIAL "\"metadata\":{\"name\":\"" name "\",\"resourceVersion\":\"" rv "\"}}"
#define META "\"metadata\":{\"resourceVersion\":\"7\"},"
#define PARTIAL_LIST(version) \
    "{\"kind\":\"PartialObjectMetadataList\",\"apiVersion\":\"" version "\"," META

static void test_pruned_and_selected(void **state)
{
    const char *keep = "metadata.name";
    const char *match = "spec.b=1";
    const struct shape_params p = {
        .keep = &keep, .keep_count = 1, .match = &match, .match_count = 1};
    struct shape *shape;

    (void)state;
    assert_int_equal(shape_create(&p, &shape, NULL), ERR_OK);
    rules.shape = shape;
    assert_said(POD_LIST META
                "\"items\":[{\"spec\":{\"b\":1},\"metadata\":{\"name\":\"a\",\"x\":[],"
                "\"resourceVersion\":\"1\"}}," ITEM("b", "2") "]}",
                POD("a", "1") "\nnot selected: " POD("b", "2") "\n2+0 Pod rv=7 next=");
    shape_destroy(&shape);
}

static void test_partial_or_not_is_the_same(void **state)
{
    static const char want[] = POD("a", "1") "\n" POD("b", "2") "\n2+0 Pod rv=7 next=";

    (void)state;
    rules.kind = "Pod";
    rules.api_version = "v1";
    rules.partial = true;
    assert_said(
        PARTIAL_LIST("meta.k8s.io/v1") "\"items\":[" PARTIAL_ITEM("a", "1") "," ITEM("b", "2") "]}",
        want);
    assert_said(PARTIAL_LIST("meta.k8s.io/v1beta1") "\"items\":[" POD("a", "1") "," PARTIAL_ITEM(
                    "b", "2") "]}",
                want);
    assert_said("{\"apiVersion\":\"meta.k8s.io/v1\",\"items\":[" PARTIAL_ITEM("a", "1") "," ITEM(
                    "b", "2") "],\"kind\":\"PartialObjectMetadataList\"," META "\"x\":0}",
                want);
    assert_said(POD_LIST META "\"items\":[" POD("a", "1") "," PARTIAL_ITEM("b", "2") "]}", want);
    assert_fails(PARTIAL_LIST("v1") "\"items\":[]}", ERR_PROTOCOL,
                 "list: wrong apiVersion v1, expected meta.k8s.io/v1");
    assert_fails("{\"apiVersion\":\"meta.k8s.io/v1\",\"kind\":\"PodList\"}", ERR_PROTOCOL,
                 "list: wrong apiVersion meta.k8s.io/v1, expected v1");
    assert_fails("{\"kind\":\"PodList\",\"apiVersion\":\"meta.k8s.io/v1\"}", ERR_PROTOCOL,
                 "list: wrong apiVersion meta.k8s.io/v1, expected v1");
    assert_fails("{\"kind\":\"Table\",\"apiVersion\":\"meta.k8s.io/v1\"}", ERR_PROTOCOL,
                 "list: unsupported Table");
    assert_fails("{\"kind\":\"NodeList\",\"apiVersion\":\"v1\"}", ERR_PROTOCOL,
                 "list: wrong kind Node, expected Pod");
}

static void test_a_partial_list_needs_the_kind_of_the_watch(void **state)
{
    static const char of_what[] =
        "list: it is of PartialObjectMetadata: the kind must be known to read it";

    (void)state;
    rules.partial = true;
    assert_said(POD_LIST META "\"items\":[" POD("a", "1") "]}",
                POD("a", "1") "\n1+0 Pod rv=7 next=");
    assert_fails(PARTIAL_LIST("meta.k8s.io/v1") "\"items\":[]}", ERR_PROTOCOL, of_what);
    assert_fails("{\"items\":[" PARTIAL_ITEM("a", "1") "]}", ERR_PROTOCOL, of_what);
    rules.kind = "Pod"; /* the apiVersion is still not known */
    assert_fails(PARTIAL_LIST("meta.k8s.io/v1") "\"items\":[]}", ERR_PROTOCOL, of_what);
    rules.api_version = "v1";
    rules.partial = false;
    assert_fails(PARTIAL_LIST("meta.k8s.io/v1") "\"items\":[]}", ERR_PROTOCOL,
                 "list: wrong kind PartialObjectMetadata, expected Pod");
    assert_said(POD_LIST META "\"items\":[" PARTIAL_ITEM("a", "1") "]}",
                "unusable a: its kind is not that of the watch\n0+1 Pod rv=7 next=");
}

/* ---- Random lists of random items, with metadata before or behind them. */

static struct gen gen;
static struct buf body;
static struct buf want;

static void gen_items(size_t n)
{
    for (size_t i = 0; i < n; i++) {
        gen_clear(&gen);
        gen_value(&gen, 0, 2);
        buf_printf(&body, "%s{\"a\":%s,\"metadata\":{\"managedFields\":[],\"name\":\"p%zu\"}}",
                   i > 0 ? ", " : "", buf_cstr(&gen.text), i);
        buf_printf(&want,
                   "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"a\":%s,\"metadata\":{\"name\":"
                   "\"p%zu\"}}\n",
                   buf_cstr(&gen.text), i);
    }
}

static void gen_list(uint64_t seed)
{
    static const char metadata[] = "\"metadata\":{\"resourceVersion\":\"7\"}";

    rng_seed(&gen.rng, seed);
    bool early = gen_below(&gen, 2) == 0;
    size_t n = gen_below(&gen, 5);
    do {
        gen_clear(&gen);
        gen_value(&gen, 0, 3);
    } while (gen.text.len > 800); /* 1000 is the limit */
    buf_clear(&body);
    buf_clear(&want);
    buf_printf(&body, POD_LIST "%s%s\"x\":%s,\"items\":[", early ? metadata : "", early ? "," : "",
               buf_cstr(&gen.text));
    gen_items(n);
    buf_printf(&body, "]%s%s}", early ? "" : ",", early ? "" : metadata);
    buf_printf(&want, "%zu+0 Pod rv=7 next=", n);
}

static void test_random_lists(void **state)
{
    struct err err;

    (void)state;
    for (uint64_t seed = 0; seed < 60; seed++) {
        gen_list(seed);
        for (size_t cut = 0; cut < body.len; cut += 1 + gen_below(&gen, 3)) {
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
        cmocka_unit_test_teardown(test_built_in_type, clear),
        cmocka_unit_test_teardown(test_custom_resource, clear),
        cmocka_unit_test_teardown(test_pretty_printed, clear),
        cmocka_unit_test_teardown(test_empty, clear),
        cmocka_unit_test_teardown(test_same_bytes_as_watch_event, clear),
        cmocka_unit_test_teardown(test_too_big_items_are_skipped, clear),
        cmocka_unit_test_teardown(test_bodies_that_are_no_lists, clear),
        cmocka_unit_test_teardown(test_the_kind_and_api_version_that_were_expected, clear),
        cmocka_unit_test_teardown(test_everything_else_is_bounded, clear),
        cmocka_unit_test_teardown(test_pruned_and_selected, clear),
        cmocka_unit_test_teardown(test_partial_or_not_is_the_same, clear),
        cmocka_unit_test_teardown(test_a_partial_list_needs_the_kind_of_the_watch, clear),
        cmocka_unit_test_teardown(test_random_lists, clear),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
