/* SPDX-License-Identifier: Apache-2.0 */
/* cache/query: the target of each kind of request (docs/kubernetes-protocol.md "Version of a list",
 * "Pages", "Watch requests", "Streaming lists"). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/compiler.h"
#include "cache/query.h"

#define PODS  "/api/v1/namespaces/a/pods"
#define BASIC "watch=true&allowWatchBookmarks=true&timeoutSeconds=301"

static void check(struct query *q, struct reflector_action a, const char *want)
{
    struct buf target = {0};

    query_put_target(q, &target, &a);
    assert_string_equal(buf_cstr(&target), want);
    buf_free(&target);
}

static void check_fields(const struct query *q, const char *want)
{
    struct buf fields = {0};

    query_put_fields(q, &fields);
    assert_string_equal(buf_cstr(&fields), want);
    buf_free(&fields);
}

static void test_each_request_has_its_parameters_and_no_others(void **state)
{
    struct resource pods;
    struct query q;

    (void)state;
    assert_int_equal(resource_parse("pods", &pods, NULL), ERR_OK);
    query_init(&q, &pods, "a", NULL);
    query_select(&q, "", NULL);
    check(&q, (struct reflector_action){.what = REFLECTOR_LIST}, PODS);
    check(&q, (struct reflector_action){.what = REFLECTOR_LIST, .rv = "0", .limit = 500},
          PODS "?resourceVersion=0&limit=500");
    check(&q, (struct reflector_action){.what = REFLECTOR_LIST, .next = "a+/=", .limit = 4},
          PODS "?limit=4&continue=a%2B%2F%3D");
    check(&q, (struct reflector_action){.what = REFLECTOR_PROBE, .limit = 1}, PODS "?limit=1");
    check(&q, (struct reflector_action){.what = REFLECTOR_WATCH, .rv = "7", .timeout_s = 301},
          PODS "?" BASIC "&resourceVersion=7");
    check(&q, (struct reflector_action){.what = REFLECTOR_STREAM, .timeout_s = 301},
          PODS "?" BASIC "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan");
    check(&q, (struct reflector_action){.what = REFLECTOR_STREAM, .rv = "7", .timeout_s = 301},
          PODS "?" BASIC
               "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=7");
    query_fini(&q);
    query_fini(&q);
    resource_fini(&pods);
}

static void test_selectors_and_the_name_stand_in_all_of_them(void **state)
{
    static const char all[] = "labelSelector=x%20in%20%28a%2Cb%29"
                              "&fieldSelector=metadata.name%3Dp%2Cspec.nodeName%3Dn";
    static const enum reflector_do dos[] = {REFLECTOR_LIST, REFLECTOR_STREAM, REFLECTOR_WATCH,
                                            REFLECTOR_PROBE};
    struct resource pods;
    struct query q;

    (void)state;
    assert_int_equal(resource_parse("pods", &pods, NULL), ERR_OK);
    query_init(&q, &pods, NULL, "p");
    query_select(&q, "x in (a,b)", "spec.nodeName=n");
    for (size_t i = 0; i < ARRAY_LEN(dos); i++) {
        struct buf target = {0};

        query_put_target(&q, &target, &(struct reflector_action){.what = dos[i], .next = "t"});
        assert_non_null(strstr(buf_cstr(&target), all));
        buf_free(&target);
    }
    check_fields(&q, "metadata.name=p,spec.nodeName=n");
    query_fini(&q);
    query_init(&q, &pods, NULL, NULL);
    check_fields(&q, "");
    query_select(&q, NULL, "spec.nodeName=n");
    check_fields(&q, "spec.nodeName=n");
    query_fini(&q);
    resource_fini(&pods);
}

static void test_the_scope_says_what_is_selected(void **state)
{
    static const struct {
        const char *ns;
        const char *name;
        const char *want;
    } table[] = {
        {NULL, NULL, ""   },
        {"a",  NULL, "a"  },
        {NULL, "n",  "n"  },
        {"a",  "n",  "a/n"},
    };
    struct resource pods;

    (void)state;
    assert_int_equal(resource_parse("pods", &pods, NULL), ERR_OK);
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        struct query q;

        query_init(&q, &pods, table[i].ns, table[i].name);
        query_select(&q, NULL, NULL);
        assert_string_equal(query_scope(&q), table[i].want);
        query_fini(&q);
    }
    resource_fini(&pods);
}

/* A row of a table (clang-format 14 crashes on some with braces). */
#define ROW(...)    \
    {               \
        __VA_ARGS__ \
    }

#define BODY                                          \
    "{\"metadata\":{\"labels\":{\"app\":\"x\",\"a.b/" \
    "c\":\"y\"},\"name\":\"o\",\"namespace\":\"n\"}," \
    "\"spec\":{\"labels\":{\"app\":\"z\"},\"nodeName\":\"n1\",\"n\":7}}"

static void test_objects_that_a_scope_does_not_select(void **state)
{
    static const struct {
        const char *ns, *name, *labels, *fields;
        bool whole, rejects;
    } rows[] = {
        ROW(NULL, NULL, NULL, NULL, true, false),
        ROW("n", "o", "app=x", "spec.nodeName=n1", true, false),
        ROW("m", NULL, NULL, NULL, true, true),
        ROW("m", NULL, NULL, NULL, false, true),
        ROW("n", "p", NULL, NULL, true, true),
        ROW(NULL, NULL, "app=z", NULL, true, true),
        ROW(NULL, NULL, "a.b/c=y", NULL, true, false),
        ROW(NULL, NULL, "a.b/c!=y", NULL, true, true),
        ROW(NULL, NULL, "other", NULL, true, true),
        ROW(NULL, NULL, "other", NULL, false, false), /* the label may have been cut out */
        ROW(NULL, NULL, "app=z,other", NULL, false, true),
        ROW(NULL, NULL, NULL, "metadata.name=o", false, false),
        ROW(NULL, NULL, NULL, "metadata.name=p", false, true),
        ROW(NULL, NULL, NULL, "spec.nodeName!=n1", true, true),
        ROW(NULL, NULL, NULL, "spec.other=1", true, false),
        ROW(NULL, NULL, NULL, "spec.n=8", true, false), /* not a string */
        ROW(NULL, NULL, NULL, "nodeName=n2", true, false),
    };
    struct object_parts parts = {.ns = str_c("n"),
                                 .name = str_c("o"),
                                 .uid = str_c("u"),
                                 .body = str_c(BODY),
                                 .rv_at = SIZE_MAX,
                                 .generation_at = SIZE_MAX};
    struct object *o = object_create(&parts);
    struct resource pods;

    (void)state;
    assert_int_equal(resource_parse("pods", &pods, NULL), ERR_OK);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct query q;

        query_init(&q, &pods, rows[i].ns, rows[i].name);
        query_select(&q, rows[i].labels, rows[i].fields);
        if (query_rejects(&q, o, rows[i].whole) != rows[i].rejects)
            fail_msg("row %zu", i);
        query_fini(&q);
    }
    object_unref(&o);
    resource_fini(&pods);
}

static void test_of_a_bare_object_only_the_name_is_known(void **state)
{
    struct object *o = object_create(&(struct object_parts){
        .name = str_c("o"), .uid = str_c("u"), .rv_at = SIZE_MAX, .generation_at = SIZE_MAX});
    struct resource nodes;
    struct query q;

    (void)state;
    assert_int_equal(resource_parse("nodes", &nodes, NULL), ERR_OK);
    query_init(&q, &nodes, NULL, "o");
    query_select(&q, "app=x", NULL);
    assert_false(query_rejects(&q, o, true));
    query_fini(&q);
    query_init(&q, &nodes, NULL, "p");
    assert_true(query_rejects(&q, o, true));
    query_fini(&q);
    object_unref(&o);
    resource_fini(&nodes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_request_has_its_parameters_and_no_others),
        cmocka_unit_test(test_selectors_and_the_name_stand_in_all_of_them),
        cmocka_unit_test(test_the_scope_says_what_is_selected),
        cmocka_unit_test(test_objects_that_a_scope_does_not_select),
        cmocka_unit_test(test_of_a_bare_object_only_the_name_is_known),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
