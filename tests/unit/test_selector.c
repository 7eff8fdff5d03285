/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "kube/selector.h"

typedef enum err_kind check_fn(const char *text, struct err *err);

static void all(check_fn *check, const char *const *texts, size_t n, enum err_kind expected)
{
    for (size_t i = 0; i < n; i++) {
        struct err err = {0};

        if (check(texts[i], &err) != expected)
            fail_msg("\"%s\": %s", texts[i], err.text);
    }
}

static void test_what_kubectl_takes_as_labels_is_fine(void **state)
{
    static const char *const good[] = {
        "",
        "a",
        "!a",
        "a=b",
        "a==b",
        "a!=b",
        "a=",
        "app.kubernetes.io/name=x,tier",
        "env in (prod, qa),tier notin (a,b)",
        "x in (),y",
        "n>5,m<-3",
        " a = b , c ",
        "kubernetes.io/service-name",
        "a.b/c_d-e.F in (1)",
        "in",
        "innings=9",
    };

    (void)state;
    all(selector_check_labels, good, ARRAY_LEN(good), ERR_OK);
}

static void test_what_the_server_would_refuse_as_labels_is_an_error(void **state)
{
    static const char *const bad[] = {
        ",",     "a,",  "=b",    "a=b c", "a in (b", "a in b", "a notin", "-a",      "a-",
        "a=b/c", "a>x", "a/b/c", "!",     "a=b,,c",  "_x=1",   "A/b/",    "a=\"x\"",
    };

    (void)state;
    all(selector_check_labels, bad, ARRAY_LEN(bad), ERR_CONFIG);
}

static void test_fields(void **state)
{
    static const char *const good[] = {"",   "metadata.name=x", "a=b,c!=d", "spec.nodeName==n1",
                                       "a=", "a=x\\,y\\=z\\\\"};
    static const char *const bad[] = {"a", "=b", "a=b,", "a=b=c", "a=x\\y", "a=x\\", "a in (b)"};

    (void)state;
    all(selector_check_fields, good, ARRAY_LEN(good), ERR_OK);
    all(selector_check_fields, bad, ARRAY_LEN(bad), ERR_CONFIG);
}

static void test_lengths_are_bounded_as_in_kubernetes(void **state)
{
    char name[65];
    struct err err;

    (void)state;
    memset(name, 'a', sizeof(name));
    name[64] = '\0';
    assert_int_equal(selector_check_labels(name, &err), ERR_CONFIG);
    assert_int_equal(selector_check_labels(name + 1, &err), ERR_OK);
}

static void test_the_place_is_told(void **state)
{
    struct err err;

    (void)state;
    assert_int_equal(selector_check_labels("a=b,c in (d", &err), ERR_CONFIG);
    assert_string_equal(err.text, "\"a=b,c in (d\": at character 12: expected , or )");
}

/* Whatever stands there: an answer, and no read behind the end (under ASan). */
static void test_every_prefix_is_answered(void **state)
{
    static const char text[] = "a.b/c in (d,e),!f,g!=h,i>5,j=k\\,l";

    (void)state;
    for (size_t n = 0; n < sizeof(text); n++) {
        char *cut = mem_strndup(text, n);
        struct err err;

        (void)(selector_check_labels(cut, &err) == ERR_OK);
        (void)(selector_check_fields(cut, &err) == ERR_OK);
        free(cut);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_kubectl_takes_as_labels_is_fine),
        cmocka_unit_test(test_what_the_server_would_refuse_as_labels_is_an_error),
        cmocka_unit_test(test_fields),
        cmocka_unit_test(test_lengths_are_bounded_as_in_kubernetes),
        cmocka_unit_test(test_the_place_is_told),
        cmocka_unit_test(test_every_prefix_is_answered),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
