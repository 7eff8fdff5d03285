/* SPDX-License-Identifier: Apache-2.0 */
/* app/access_questions: the questions for each watch, in every scope. */
#include "app/access_questions.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/compiler.h"

static char none[] = "";
static char a[] = "a";
static char b[] = "b";
static char star[] = "*";
static char watch_name[] = "w";
static struct conf_str a_and_b[] = {{.v = a}, {.v = b}};
static struct conf_str everywhere[] = {{.v = star}};

static const struct conf_watch plain = {
    .name = {.v = watch_name}, .label_selector = {.v = none}, .field_selector = {.v = none}};

/* The texts of the questions about this watch on node n1, each with "; " behind it. */
static void expect(const struct conf_watch *w, const char *resource, const char *want)
{
    struct access_questions q = {0};
    struct buf out = {0};
    struct resource r;

    assert_int_equal(resource_parse(resource, &r, NULL), ERR_OK);
    access_questions_add_watch(&q, w, &r, "n1");
    for (size_t i = 0; i < q.n; i++) {
        assert_string_equal(q.v[i].watch, "w");
        assert_non_null(strstr(q.v[i].body, "\"SelfSubjectAccessReview\""));
        buf_printf(&out, "%s; ", q.v[i].text);
    }
    assert_string_equal(buf_cstr(&out), want);
    buf_free(&out);
    resource_fini(&r);
    access_questions_fini(&q);
    assert_int_equal(q.n, 0);
}

static void test_list_and_watch_of_every_scope(void **state)
{
    struct conf_watch w = plain;

    (void)state;
    expect(&w, "nodes", "list nodes; watch nodes; ");
    w.namespaces = (struct conf_list){.v = everywhere, .n = 1};
    expect(&w, "services", "list services in all namespaces; watch services in all namespaces; ");
    w.namespaces = (struct conf_list){.v = a_and_b, .n = 2};
    expect(&w, "services",
           "list services in namespace a; watch services in namespace a; "
           "list services in namespace b; watch services in namespace b; ");
    w.namespaces.n = 1;
    w.names = (struct conf_list){.v = a_and_b, .n = 2};
    expect(&w, "services",
           "list services in namespace a (fieldSelector metadata.name=a); "
           "watch services in namespace a (fieldSelector metadata.name=a); "
           "list services in namespace a (fieldSelector metadata.name=b); "
           "watch services in namespace a (fieldSelector metadata.name=b); ");
}

static void test_the_selectors_are_those_of_the_requests(void **state)
{
    static char labels[] = "app=${node_name}";
    static char fields[] = "spec.nodeName=${node_name}";
    struct conf_watch w = plain;

    (void)state;
    w.namespaces = (struct conf_list){.v = everywhere, .n = 1};
    w.names = (struct conf_list){.v = a_and_b, .n = 1};
    w.label_selector.v = labels;
    w.field_selector.v = fields;
    expect(&w, "pods",
           "list pods in all namespaces (labelSelector app=n1, fieldSelector "
           "metadata.name=a,spec.nodeName=n1); "
           "watch pods in all namespaces (labelSelector app=n1, fieldSelector "
           "metadata.name=a,spec.nodeName=n1); ");
}

static void test_confirmed_deletes_need_get_without_selectors(void **state)
{
    static char labels[] = "app=x";
    struct conf_watch w = plain;

    (void)state;
    w.namespaces = (struct conf_list){.v = a_and_b, .n = 1};
    w.label_selector.v = labels;
    w.confirm_deletes.v = true;
    expect(&w, "services",
           "list services in namespace a (labelSelector app=x); "
           "watch services in namespace a (labelSelector app=x); "
           "get services in namespace a; ");
    w.names = (struct conf_list){.v = a_and_b, .n = 1};
    expect(&w, "services",
           "list services in namespace a (labelSelector app=x, fieldSelector metadata.name=a); "
           "watch services in namespace a (labelSelector app=x, fieldSelector metadata.name=a); "
           "get services \"a\" in namespace a; ");
}

static void test_a_row_that_needs_no_question(void **state)
{
    struct access_questions q = {0};

    (void)state;
    access_questions_add_row(&q, &plain, ACCESS_WARNING, "not there");
    assert_int_equal(q.n, 1);
    assert_string_equal(q.v[0].watch, "w");
    assert_string_equal(q.v[0].text, "not there");
    assert_null(q.v[0].body);
    assert_int_equal(q.v[0].verdict, ACCESS_WARNING);
    access_questions_fini(&q);
}

static void test_the_identity(void **state)
{
    struct access_questions q = {0};

    (void)state;
    access_questions_add_identity(&q);
    assert_int_equal(q.n, 1);
    assert_null(q.v[0].watch);
    assert_string_equal(q.v[0].text, "list namespaces (fieldSelector metadata.name=kube-system)");
    assert_non_null(strstr(q.v[0].body, "\"name\":\"kube-system\""));
    access_questions_fini(&q);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_list_and_watch_of_every_scope),
        cmocka_unit_test(test_the_selectors_are_those_of_the_requests),
        cmocka_unit_test(test_confirmed_deletes_need_get_without_selectors),
        cmocka_unit_test(test_a_row_that_needs_no_question),
        cmocka_unit_test(test_the_identity),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
