/* SPDX-License-Identifier: Apache-2.0 */
/* kube/access_review: the question byte for byte, and every kind of answer. */
#include "kube/access_review.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"

#define HEAD                                                                                     \
    "{\"apiVersion\":\"authorization.k8s.io/v1\",\"kind\":\"SelfSubjectAccessReview\",\"spec\":" \
    "{\"resourceAttributes\":{"

static const struct access_review everything = {.verb = "list",
                                                .group = "",
                                                .version = "v1",
                                                .plural = "services",
                                                .namespaced = true,
                                                .ns = "",
                                                .name = "",
                                                .labels = "",
                                                .fields = ""};

/* The members of resourceAttributes, and the words. */
static void expect(const struct access_review *r, const char *members, const char *words)
{
    struct buf out = {0};
    size_t n = strlen(HEAD);

    access_review_put(&out, r);
    assert_memory_equal(buf_cstr(&out), HEAD, n);
    assert_string_equal(buf_cstr(&out) + out.len - 3, "}}}");
    out.len -= 3;
    assert_string_equal(buf_cstr(&out) + n, members);
    buf_clear(&out);
    access_review_put_text(&out, r);
    assert_string_equal(buf_cstr(&out), words);
    buf_free(&out);
}

static void test_the_question(void **state)
{
    struct access_review r = everything;

    (void)state;
    expect(&r, "\"verb\":\"list\",\"version\":\"v1\",\"resource\":\"services\"",
           "list services in all namespaces");
    r.verb = "watch";
    r.group = "discovery.k8s.io";
    r.plural = "endpointslices";
    r.ns = "a";
    expect(&r,
           "\"verb\":\"watch\",\"group\":\"discovery.k8s.io\",\"version\":\"v1\",\"resource\":"
           "\"endpointslices\",\"namespace\":\"a\"",
           "watch endpointslices.discovery.k8s.io in namespace a");
    r = everything;
    r.plural = "nodes";
    r.namespaced = false;
    r.verb = "get";
    r.name = "n1";
    expect(&r, "\"verb\":\"get\",\"version\":\"v1\",\"resource\":\"nodes\",\"name\":\"n1\"",
           "get nodes \"n1\"");
}

static void test_the_question_has_the_selectors_and_the_name_in_them(void **state)
{
    struct access_review r = everything;

    (void)state;
    r.plural = "pods";
    r.fields = "spec.nodeName=n1";
    expect(&r,
           "\"verb\":\"list\",\"version\":\"v1\",\"resource\":\"pods\",\"fieldSelector\":"
           "{\"rawSelector\":\"spec.nodeName=n1\"}",
           "list pods in all namespaces (fieldSelector spec.nodeName=n1)");
    r.labels = "a in (b,c),d>4";
    r.fields = "metadata.name=p,spec.nodeName=n1";
    expect(&r,
           "\"verb\":\"list\",\"version\":\"v1\",\"resource\":\"pods\",\"name\":\"p\","
           "\"labelSelector\":{\"rawSelector\":\"a in (b,c),d>4\"},"
           "\"fieldSelector\":{\"rawSelector\":\"metadata.name=p,spec.nodeName=n1\"}",
           "list pods in all namespaces (labelSelector a in (b,c),d>4, fieldSelector "
           "metadata.name=p,spec.nodeName=n1)");
    r.fields = "";
    r.labels = "a=\"";
    expect(&r,
           "\"verb\":\"list\",\"version\":\"v1\",\"resource\":\"pods\",\"labelSelector\":"
           "{\"rawSelector\":\"a=\\\"\"}",
           "list pods in all namespaces (labelSelector a=\")");
}

#define ANSWER(status) "{\"kind\":\"SelfSubjectAccessReview\",\"spec\":{},\"status\":" status "}"

static void test_answers(void **state)
{
    static const struct {
        const char *body;
        bool allowed;
        const char *why;
    } rows[] = {
        {ANSWER("{\"allowed\":true}"),                                              true,  ""     },
        {ANSWER("{\"allowed\":true,\"reason\":\"RBAC: allowed by X\"}"),            true,
         "RBAC: allowed by X"                                                                     },
        {ANSWER("{\"allowed\":false}"),                                             false, ""     },
        {ANSWER("{\"allowed\":false,\"denied\":true,\"reason\":\"no\"}"),           false, "no"   },
        {ANSWER("{\"evaluationError\":\"role x not found\",\"allowed\":false}"),    false,
         "role x not found"                                                                       },
        {ANSWER("{\"allowed\":false,\"reason\":\"no\",\"evaluationError\":\"e\"}"), false, "no; e"},
        {ANSWER("{\"allowed\":\"true\"}"),                                          false, ""     }, /* only a true is a yes */
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct access_answer a = {.allowed = !rows[i].allowed, .why = "old"};

        assert_int_equal(access_review_read(str_c(rows[i].body), &a, NULL), ERR_OK);
        assert_int_equal(a.allowed, rows[i].allowed);
        assert_string_equal(a.why, rows[i].why);
    }
}

static void test_answers_that_are_none(void **state)
{
    static const char *const bodies[] = {
        "",
        "<html>",
        "{}",
        "[]",
        "null",
        "{\"status\":{\"allowed\":true}}",
        "{\"kind\":\"Status\",\"status\":{\"allowed\":true}}",
        "{\"kind\":\"Status\",\"status\":\"Failure\"}",
        "{\"kind\":\"SelfSubjectAccessReview\",\"status\":{}}",
        "{\"kind\":\"SelfSubjectAccessReview\",\"status\":true}",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bodies); i++) {
        struct access_answer a = {.allowed = true};
        struct err err;

        assert_int_equal(access_review_read(str_c(bodies[i]), &a, &err), ERR_PROTOCOL);
        assert_true(a.allowed); /* left alone */
    }
}

static void test_a_long_reason_is_cut_behind_a_whole_character(void **state)
{
    struct buf body = {0};
    struct access_answer a;

    (void)state;
    buf_puts(&body, "{\"kind\":\"SelfSubjectAccessReview\",\"status\":{\"reason\":\"");
    for (int i = 0; i < 200; i++)
        buf_puts(&body, "\xc3\xa4");
    buf_puts(&body, "\",\"allowed\":false}}");
    assert_int_equal(access_review_read(buf_str(&body), &a, NULL), ERR_OK);
    buf_free(&body);
    assert_int_equal(strlen(a.why), 254);
}

static void test_every_prefix_is_answered(void **state)
{
    static const char body[] = ANSWER("{\"allowed\":true,\"reason\":\"because\"}");

    (void)state;
    for (size_t n = 0; n + 1 < sizeof(body); n++) {
        struct access_answer a;

        if (access_review_read(str_of(body, n), &a, NULL) == ERR_OK)
            fail_msg("%.*s", (int)n, body);
    }
}

static void test_a_server_that_does_not_know_reviews(void **state)
{
    static const enum err_kind unknown[] = {ERR_NOT_FOUND, ERR_NO_VERB};
    static const enum err_kind others[] = {ERR_FORBIDDEN, ERR_UNAUTHORIZED, ERR_BUSY, ERR_SERVER,
                                           ERR_CLOSED};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(unknown); i++)
        assert_true(access_review_is_unknown(&(struct err){.kind = unknown[i]}));
    for (size_t i = 0; i < ARRAY_LEN(others); i++)
        assert_false(access_review_is_unknown(&(struct err){.kind = others[i]}));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_question),
        cmocka_unit_test(test_the_question_has_the_selectors_and_the_name_in_them),
        cmocka_unit_test(test_answers),
        cmocka_unit_test(test_answers_that_are_none),
        cmocka_unit_test(test_a_long_reason_is_cut_behind_a_whole_character),
        cmocka_unit_test(test_every_prefix_is_answered),
        cmocka_unit_test(test_a_server_that_does_not_know_reviews),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
