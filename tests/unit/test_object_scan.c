/* SPDX-License-Identifier: Apache-2.0 */
#include "scan_probe.h"

#include <string.h>

#define PAIR(text, wanted) \
    {                      \
        (text), (wanted)   \
    }

static struct object *scan_whole(const char *text)
{
    struct object *o = NULL;

    scan_feed(str_c(text), strlen(text), 1);
    assert_int_equal(object_scan_end(scan, (struct str){0}, (struct str){0}, &o), OBJECT_SCAN_OK);
    return o;
}

static void assert_str(struct str s, const char *want)
{
    assert_int_equal(s.n, strlen(want));
    assert_memory_equal(s.p, want, s.n);
}

static void test_identity(void **state)
{
    static const char text[] =
        "{\"kind\":\"Service\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"a\",\"namespace\":"
        "\"n\",\"uid\":\"u-1\",\"resourceVersion\":\"12\",\"generation\":3},\"spec\":{}}";

    (void)state;
    struct object *o = scan_whole(text);
    assert_str(object_key(o), "n/a");
    assert_int_equal(object_key(o).p[3], '\0');
    assert_str(object_namespace(o), "n");
    assert_str(object_name(o), "a");
    assert_str(object_uid(o), "u-1");
    assert_str(object_rv(o), "12");
    assert_str(object_kind(o), "Service");
    assert_str(object_api_version(o), "v1");
    assert_true(object_bytes(o) > sizeof(text));
    scan_assert_json(o, text);
    assert_str(object_scan_unusable(scan, NULL).key, "n/a");
    assert_str(object_scan_rv(scan), "12");
    struct object *again = object_ref(o);
    object_unref(&o);
    assert_null(o);
    assert_str(object_name(again), "a");
    object_unref(&again);
    object_unref(&again);
}

static void test_cluster_scoped_and_bare(void **state)
{
    (void)state;
    struct object *o = scan_whole("{\"metadata\":{\"name\":\"caf\xc3\xa9\",\"namespace\":null}}");
    assert_str(object_key(o), "caf\xc3\xa9");
    assert_str(object_namespace(o), "");
    assert_str(object_uid(o), "");
    assert_str(object_rv(o), "");
    scan_assert_json(o, "{\"metadata\":{\"name\":\"caf\xc3\xa9\",\"namespace\":null}}");
    object_unref(&o);
}

#define MF "\"managedFields\":[{\"a\":{\"}\":\",\"}},2]"

static void test_managed_fields_are_cut_wherever_they_stand(void **state)
{
    static const char *const cases[][2] = {
        PAIR("{\"metadata\":{" MF ",\"name\":\"a\"}}", "{\"metadata\":{\"name\":\"a\"}}"),
        PAIR("{\"metadata\":{\"name\":\"a\"," MF "}}", "{\"metadata\":{\"name\":\"a\"}}"),
        PAIR("{\"metadata\":{\"name\":\"a\"," MF ",\"x\":1}}",
             "{\"metadata\":{\"name\":\"a\",\"x\":1}}"),
        PAIR("{\"metadata\":{ " MF " , \"name\" : \"a\" } }",
             "{\"metadata\":{ \"name\" : \"a\" } }"),
        PAIR("{\"metadata\":{ \"name\":\"a\" , " MF " }}", "{\"metadata\":{ \"name\":\"a\" }}"),
        PAIR("{\"metadata\":{\"name\":\"a\",\n  " MF ",\n  \"x\":1\n}}",
             "{\"metadata\":{\"name\":\"a\",\n  \"x\":1\n}}"),
        PAIR("{\"metadata\":{\"name\":\"a\",\"managedFields\":null}}",
             "{\"metadata\":{\"name\":\"a\"}}"),
        PAIR("{\"metadata\":{\"managedFields\":\"},\",\"name\":\"a\"}}",
             "{\"metadata\":{\"name\":\"a\"}}"),
        PAIR("{\"metadata\":{\"name\":\"a\",\"m\\u0061nagedFields\":7}}",
             "{\"metadata\":{\"name\":\"a\"}}"),
        PAIR("{\"met\\u0061data\":{\"name\":\"a\"," MF "}}",
             "{\"met\\u0061data\":{\"name\":\"a\"}}"),
        PAIR("{\"metadata\":{\"resourceVersion\":\"1\"," MF ",\"generation\":2,\"name\":\"a\"}}",
             "{\"metadata\":{\"resourceVersion\":\"1\",\"generation\":2,\"name\":\"a\"}}"),
        /* Outside of metadata such members stay. */
        PAIR("{\"managedFields\":[],\"metadata\":{\"name\":\"a\",\"x\":{\"managedFields\":[]}}}",
             "{\"managedFields\":[],\"metadata\":{\"name\":\"a\",\"x\":{\"managedFields\":[]}}}"),
        PAIR("{\"metadata\":{\"name\":\"a\"},\"spec\":{\"metadata\":{" MF "}}}",
             "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"metadata\":{" MF "}}}"),
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct str text = str_c(cases[i][0]);

        for (size_t cut = 1; cut <= text.n; cut++) {
            struct object *o = NULL;

            scan_feed(text, cut, cut);
            assert_int_equal(object_scan_end(scan, (struct str){0}, (struct str){0}, &o),
                             OBJECT_SCAN_OK);
            scan_assert_json(o, cases[i][1]);
            object_unref(&o);
        }
    }
    /* As the only member: nothing is left, and the object has no name. */
    struct object *o = NULL;
    scan_feed(str_c("{\"metadata\":{ " MF " }}"), 1, 1);
    assert_int_equal(object_scan_end(scan, (struct str){0}, (struct str){0}, &o),
                     OBJECT_SCAN_NOT_OBJECT);
    assert_str(object_scan_body(scan), "{\"metadata\":{ }}");
}

static void test_versions_do_not_count(void **state)
{
    static const char *const same[] = {
        "{\"metadata\":{\"generation\":1,\"name\":\"a\",\"resourceVersion\":\"1\"}}",
        "{\"metadata\":{\"generation\":10,\"name\":\"a\",\"resourceVersion\":\"123456\"}}",
        "{\"metadata\":{\"generation\":1," MF ",\"name\":\"a\",\"resourceVersion\":\"2\"}}",
    };

    (void)state;
    struct object *first = scan_whole(same[0]);
    for (size_t i = 0; i < ARRAY_LEN(same); i++) {
        struct object *o = scan_whole(same[i]);

        assert_true(object_same(first, o));
        assert_true(digest_eq(object_digest(first), object_digest(o)));
        object_unref(&o);
    }
    struct object *o = scan_whole("{\"metadata\":{\"generation\":1,\"name\":\"a\","
                                  "\"resourceVersion\":\"1\"},\"x\":0}");
    assert_false(object_same(first, o));
    assert_false(digest_eq(object_digest(first), object_digest(o)));
    object_unref(&o);
    /* A generation or version that Kubernetes would not write like this stays in the body. */
    o = scan_whole("{\"metadata\":{\"generation\":\"1\",\"name\":\"a\",\"resourceVersion\":\"\"}}");
    scan_assert_json(
        o, "{\"metadata\":{\"generation\":\"1\",\"name\":\"a\",\"resourceVersion\":\"\"}}");
    object_unref(&o);
    object_unref(&first);
}

static void test_kind_and_api_version_are_put_in_front(void **state)
{
    static const char *const cases[][2] = {
        PAIR(
            "{\"metadata\":{\"generation\":7,\"name\":\"a\",\"resourceVersion\":\"1\"}}",
            "{\"kind\":\"K\",\"apiVersion\":\"g/v1\",\"metadata\":{\"generation\":7,\"name\":\"a\","
            "\"resourceVersion\":\"1\"}}"),
        PAIR("{ \"kind\":\"Own\",\"metadata\":{\"name\":\"a\"}}",
             "{\"apiVersion\":\"g/v1\", \"kind\":\"Own\",\"metadata\":{\"name\":\"a\"}}"),
        PAIR("{\"metadata\":{\"name\":\"a\"},\"apiVersion\":\"own/v1\"}",
             "{\"kind\":\"K\",\"metadata\":{\"name\":\"a\"},\"apiVersion\":\"own/v1\"}"),
        PAIR("{\"kind\":\"Own\",\"metadata\":{\"name\":\"a\"},\"apiVersion\":\"own/v1\"}",
             "{\"kind\":\"Own\",\"metadata\":{\"name\":\"a\"},\"apiVersion\":\"own/v1\"}"),
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct object *o = NULL;

        scan_feed(str_c(cases[i][0]), 9, 9);
        assert_int_equal(object_scan_end(scan, str_c("K"), str_c("g/v1"), &o), OBJECT_SCAN_OK);
        scan_assert_json(o, cases[i][1]);
        assert_str(object_kind(o), i % 2 == 0 ? "K" : "Own");
        assert_str(object_api_version(o), i < 2 ? "g/v1" : "own/v1");
        object_unref(&o);
    }
}

static void test_objects_that_cannot_be_relied_on(void **state)
{
    static const char *const cases[][2] = {
        PAIR("{}", "it has no metadata.name"),
        PAIR("{\"metadata\":{}}", "it has no metadata.name"),
        PAIR("{\"metadata\":null}", "it has no metadata.name"),
        PAIR("{\"metadata\":[{\"name\":\"a\"}]}", "it has no metadata.name"),
        PAIR("{\"metadata\":\"name\"}", "it has no metadata.name"),
        PAIR("{\"metadata\":{\"name\":\"\"}}", "it has no metadata.name"),
        PAIR("{\"spec\":{\"name\":\"a\"},\"metadata\":{\"x\":{\"name\":\"a\"}}}",
             "it has no metadata.name"),
        PAIR("{\"metadata\":{\"name\":1}}", "its metadata.name is wrong"),
        PAIR("{\"metadata\":{\"name\":{\"name\":\"a\"}}}", "its metadata.name is wrong"),
        PAIR("{\"metadata\":{\"name\":\"a/b\"}}", "its metadata.name is wrong"),
        PAIR("{\"metadata\":{\"name\":\"a\\u0000\"}}", "its metadata.name is wrong"),
        PAIR("{\"metadata\":{\"name\":\"a\\nb\"}}", "its metadata.name is wrong"),
        PAIR("{\"metadata\":{\"name\":\"a\",\"namespace\":\"a/b\"}}",
             "its metadata.namespace is wrong"),
        PAIR("{\"metadata\":{\"name\":\"a\",\"namespace\":1}}", "its metadata.namespace is wrong"),
        PAIR("{\"metadata\":{\"name\":\"a\",\"uid\":[]}}", "its metadata.uid is wrong"),
        PAIR("{\"metadata\":{\"name\":\"a\",\"resourceVersion\":1}}",
             "its metadata.resourceVersion is wrong"),
        PAIR("{\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"\\\"\"}}",
             "its metadata.resourceVersion is wrong"),
        PAIR("{\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"\xc3\xa9\"}}",
             "its metadata.resourceVersion is wrong"),
        PAIR("{\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"\\u0031\"}}",
             "its metadata.resourceVersion is written with escapes"),
        PAIR("{\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"2\\u0031\"}}",
             "its metadata.resourceVersion is written with escapes"),
        PAIR("{\"metadata\":{\"name\":\"a\",\"name\":\"b\"}}", "its metadata has a member twice"),
        PAIR("{\"metadata\":{" MF "," MF ",\"x\":1,\"name\":\"a\"}}",
             "its metadata has a member twice"),
        PAIR("{\"metadata\":{\"resourceVersion\":\"1\",\"resourceVersion\":\"2\",\"name\":\"a\"," MF
             "}}",
             "its metadata has a member twice"),
        PAIR("{\"metadata\":{\"generation\":1,\"generation\":2,\"name\":\"a\"}}",
             "its metadata has a member twice"),
        PAIR("{\"metadata\":{\"name\":\"a\"},\"metadata\":{" MF "}}",
             "it has kind, apiVersion or metadata twice"),
        PAIR("{\"kind\":7,\"metadata\":{\"name\":\"a\"}}", "its kind or apiVersion is wrong"),
        PAIR("{\"apiVersion\":{\"a\":1},\"metadata\":{\"name\":\"a\"}}",
             "its kind or apiVersion is wrong"),
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        for (size_t cut = 1; cut <= strlen(cases[i][0]); cut++) {
            struct object *o = NULL;

            scan_feed(str_c(cases[i][0]), cut, cut);
            assert_int_equal(object_scan_end(scan, str_c("K"), str_c("v1"), &o),
                             OBJECT_SCAN_NOT_OBJECT);
            assert_null(o);
            assert_string_equal(object_scan_unusable(scan, NULL).why, cases[i][1]);
        }
}

static void test_long_names_are_wrong(void **state)
{
    static const struct {
        const char *member;
        size_t max;
    } cases[] = {
        {"name",            253},
        {"namespace",       63 },
        {"uid",             128},
        {"resourceVersion", 128}
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        for (size_t over = 0; over < 2; over++) {
            struct buf text = {0};
            const char *name = strcmp(cases[i].member, "name") != 0 ? "\"name\":\"a\"," : "";

            buf_printf(&text, "{\"metadata\":{%s\"%s\":\"%0*d\"}}", name, cases[i].member,
                       (int)(cases[i].max + over), 0);
            scan_feed(buf_str(&text), text.len, 1);
            assert_int_equal(object_scan_unusable(scan, NULL).why != NULL, over == 1);
            buf_free(&text);
        }
}

static void test_limit_is_exact(void **state)
{
    static const char text[] = "{\"metadata\":{\"name\":\"a\",\"namespace\":\"n\"," MF
                               ",\"resourceVersion\":\"5\"},\"x\":\"0123456789\"}";
    size_t n = sizeof(text) - 1;

    (void)state;
    for (size_t limit = n - 1; limit <= n; limit++)
        for (size_t cut = 1; cut <= n; cut++) {
            struct object_scan *saved = scan;
            struct object *o = NULL;

            scan = object_scan_create(&(struct object_rules){.object_size = limit});
            scan_feed(str_of(text, n), cut, cut);
            assert_int_equal(object_scan_end(scan, str_c("K"), str_c("v1"), &o),
                             limit < n ? OBJECT_SCAN_TOO_BIG : OBJECT_SCAN_OK);
            assert_int_equal(object_scan_too_big(scan), limit < n);
            assert_int_equal(o == NULL, limit < n);
            assert_str(object_scan_unusable(scan, NULL).key, "n/a");
            assert_str(object_scan_rv(scan), "5");
            if (limit < n)
                assert_str(object_scan_body(scan), "");
            object_unref(&o);
            object_scan_destroy(&scan);
            scan = saved;
        }
}

/* The identity of an object far over the limit is found even behind the large part. */
static void test_large_object(void **state)
{
    struct buf text = {0};
    struct object *o = NULL;

    (void)state;
    buf_puts(&text, "{\"metadata\":{" MF ",\"annotations\":{\"a\":\"");
    for (int i = 0; i < 300000; i++)
        buf_puts(&text, "0123456789");
    buf_puts(&text, "\"}," MF ",\"resourceVersion\":\"5\",\"generation\":1,\"name\":\"a\"}}");
    scan_feed(buf_str(&text), 1000, 16384);
    assert_int_equal(object_scan_end(scan, str_c("K"), str_c("v1"), &o), OBJECT_SCAN_TOO_BIG);
    assert_str(object_scan_rv(scan), "5");
    o = scan_whole("{\"metadata\":{\"name\":\"a\"}}"); /* the scan can still read another object */
    scan_assert_json(o, "{\"metadata\":{\"name\":\"a\"}}");
    object_unref(&o);
    buf_free(&text);
}

static void test_bookmark(void **state)
{
    static const struct {
        const char *annotations;
        bool end;
    } cases[] = {
        {"{\"k8s.io/initial-events-end\":\"true\"}",                               true },
        {"{\"a\":\"b\",\"k8s.io\\/initial-events-end\":\"true\",\"c\":\"false\"}", true },
        {"{\"k8s.io/initial-events-end\":\"false\"}",                              false},
        {"{\"k8s.io/initial-events-end\":true}",                                   false},
        {"{\"x\":{\"k8s.io/initial-events-end\":\"true\"}}",                       false},
        {"[\"k8s.io/initial-events-end\",\"true\"]",                               false},
        {"null",                                                                   false},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct buf text = {0};

        buf_printf(&text,
                   "{\"kind\":\"K\",\"metadata\":{\"annotations\":%s,\"resourceVersion\":"
                   "\"9\"}}",
                   cases[i].annotations);
        scan_feed(buf_str(&text), 3, 3);
        assert_int_equal(object_scan_initial_events_end(scan), cases[i].end);
        assert_str(object_scan_rv(scan), "9");
        assert_null(object_scan_why_no_rv(scan));
        assert_non_null(object_scan_unusable(scan, NULL).why);
        buf_free(&text);
    }
    scan_feed(str_c("{\"kind\":\"K\",\"metadata\":{}}"), 3, 3);
    assert_string_equal(object_scan_why_no_rv(scan), "it has no metadata.resourceVersion");
    assert_false(object_scan_initial_events_end(scan));
}

static void test_of_a_bare_object_the_identity_is_written(void **state)
{
    struct object_parts p = {.ns = str_c("n"),
                             .name = str_c("a\"b"),
                             .uid = str_c("u"),
                             .rv_at = SIZE_MAX,
                             .generation_at = SIZE_MAX};

    (void)state;
    struct object *o = object_create(&p);
    assert_true(object_is_bare(o));
    scan_assert_json(o, "{\"metadata\":{\"name\":\"a\\\"b\",\"namespace\":\"n\",\"uid\":\"u\"}}");
    object_unref(&o);
    p = (struct object_parts){.api_version = str_c("v1"),
                              .kind = str_c("Node"),
                              .name = str_c("n"),
                              .rv_at = SIZE_MAX,
                              .generation_at = SIZE_MAX};
    o = object_create(&p);
    scan_assert_json(o, "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"n\"}}");
    object_unref(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_identity),
        cmocka_unit_test(test_cluster_scoped_and_bare),
        cmocka_unit_test(test_of_a_bare_object_the_identity_is_written),
        cmocka_unit_test(test_managed_fields_are_cut_wherever_they_stand),
        cmocka_unit_test(test_versions_do_not_count),
        cmocka_unit_test(test_kind_and_api_version_are_put_in_front),
        cmocka_unit_test(test_objects_that_cannot_be_relied_on),
        cmocka_unit_test(test_long_names_are_wrong),
        cmocka_unit_test(test_limit_is_exact),
        cmocka_unit_test(test_large_object),
        cmocka_unit_test(test_bookmark),
    };

    return cmocka_run_group_tests(tests, scan_set_up, scan_clean_up);
}
