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

static void test_label_selectors_that_kubectl_takes(void **state)
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
        "a in\t(b),c\tnotin\t(d)",
    };

    (void)state;
    all(selector_check_labels, good, ARRAY_LEN(good), ERR_OK);
}

static void test_label_selectors_that_the_server_refuses(void **state)
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

static void test_the_error_has_its_place(void **state)
{
    struct err err;

    (void)state;
    assert_int_equal(selector_check_labels("a=b,c in (d", &err), ERR_CONFIG);
    assert_string_equal(err.text, "\"a=b,c in (d\": at character 12: expected , or )");
}

/* Any text has an answer, and the parser reads nothing behind its end (under ASan). */
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

/* ---- Applied. */

struct judgement {
    const char *selector;
    const char *object; /* "key=value;..", "?" in place of a value that is not known */
    bool rejects;
};

static struct selector_value value_in(void *arg, struct str key)
{
    const struct judgement *of = arg;
    const char *at = of->object;

    while (*at != '\0') {
        const char *equals = strchr(at, '=');
        const char *end = strchrnul(at, ';');

        if (str_eq(str_of(at, (size_t)(equals - at)), key)) {
            struct str text = str_of(equals + 1, (size_t)(end - equals - 1));
            bool known = !str_is(text, "?");

            return (struct selector_value){known ? SELECTOR_PRESENT : SELECTOR_UNKNOWN, text};
        }
        at = *end == ';' ? end + 1 : end;
    }
    return (struct selector_value){.is = SELECTOR_ABSENT};
}

/* A row of a table (clang-format 14 crashes on some with braces). */
#define ROW(...)    \
    {               \
        __VA_ARGS__ \
    }

static void test_label_selectors_reject_what_the_server_would(void **state)
{
    static struct judgement rows[] = {
        ROW("", "a=1", false),
        ROW("a", "a=1", false),
        ROW("a", "b=1", true),
        ROW("!a", "a=1", true),
        ROW("!a", "b=1", false),
        ROW("a=1", "a=1", false),
        ROW(" a == 1 ", "a=1", false),
        ROW("a=1", "a=12", true),
        ROW("a=12", "a=1", true),
        ROW("a=1", "b=1", true),
        ROW("a=", "a=", false),
        ROW("a=", "b=1", true),
        ROW("a!=1", "a=1", true),
        ROW("a!=1", "a=2", false),
        ROW("a!=1", "b=1", false),
        ROW("a in (1, 2)", "a=2", false),
        ROW("a in (1,2)", "a=3", true),
        ROW("a in (1,2)", "b=1", true),
        ROW("a notin (1,2)", "a=1", true),
        ROW("a notin (1,2)", "a=3", false),
        ROW("a notin (1,2)", "b=1", false),
        ROW("a in ()", "a=", false),
        ROW("a>5", "a=6", false),
        ROW("a>5", "a=5", true),
        ROW("a<-3", "a=-4", false),
        ROW("a<-3", "a=x", true),
        ROW("a>5", "a=9223372036854775808", true), /* no number of 64 bits */
        ROW("a>5", "b=6", true),
        ROW("a=1,b=2", "a=1;b=2", false),
        ROW("a=1,b=2", "a=1;b=3", true),
        ROW("a.b/c-d in (x),e", "a.b/c-d=x;e=", false),
        ROW("a=1", "a=?", false),
        ROW("!a", "a=?", false),
        ROW("a=1,b=2", "a=?;b=3", true),
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (selector_rejects_labels(rows[i].selector, value_in, &rows[i]) != rows[i].rejects)
            fail_msg("\"%s\" of \"%s\"", rows[i].selector, rows[i].object);
}

/* Only the server knows its default of an absent field. */
static void test_field_selectors_reject_what_the_server_would(void **state)
{
    static struct judgement rows[] = {
        ROW("", "", false),
        ROW("metadata.name=a", "metadata.name=a", false),
        ROW("metadata.name==a", "metadata.name=b", true),
        ROW("metadata.name!=a", "metadata.name=a", true),
        ROW("metadata.name!=a", "metadata.name=b", false),
        ROW("spec.x=1", "metadata.name=a", false),
        ROW("spec.x!=", "metadata.name=a", false),
        ROW("a=1,b=2", "a=1;b=3", true),
        ROW("a=x\\,y\\=z\\\\", "a=x,y=z\\", false),
        ROW("a=x\\,y", "a=x", true),
        ROW("a=(1)", "a=(1)", false),
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (selector_rejects_fields(rows[i].selector, value_in, &rows[i]) != rows[i].rejects)
            fail_msg("\"%s\" of \"%s\"", rows[i].selector, rows[i].object);
}

static void test_the_value_that_a_field_selector_asks_for(void **state)
{
    static const struct {
        const char *text;
        const char *value;
    } rows[] = {
        {"",                                 ""   },
        {"metadata.name=a",                  "a"  },
        {"spec.x=1,metadata.name==a-b",      "a-b"},
        {"metadata.name=a,metadata.name=b",  "a"  },
        {"metadata.name!=a",                 ""   },
        {"metadata.name!=a,metadata.name=b", "b"  },
        {"metadata.names=a",                 ""   },
        {"metadata.name=a,b",                ""   }, /* wrong */
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (!str_is(selector_exact_field(rows[i].text, "metadata.name"), rows[i].value))
            fail_msg("\"%s\"", rows[i].text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_label_selectors_reject_what_the_server_would),
        cmocka_unit_test(test_field_selectors_reject_what_the_server_would),
        cmocka_unit_test(test_the_value_that_a_field_selector_asks_for),
        cmocka_unit_test(test_label_selectors_that_kubectl_takes),
        cmocka_unit_test(test_label_selectors_that_the_server_refuses),
        cmocka_unit_test(test_fields),
        cmocka_unit_test(test_lengths_are_bounded_as_in_kubernetes),
        cmocka_unit_test(test_the_error_has_its_place),
        cmocka_unit_test(test_every_prefix_is_answered),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
