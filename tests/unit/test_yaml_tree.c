/* SPDX-License-Identifier: Apache-2.0 */
/* YAML as JSON, with the types that kubectl sees; the rest of yaml_tree is tested with
 * kubeconfigs. */
#include "kube/yaml_tree.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"

/* A row of a table (clang-format 14 crashes on some with braces). */
#define ROW(...)    \
    {               \
        __VA_ARGS__ \
    }

static enum err_kind convert(struct str yaml, struct buf *json, struct err *err)
{
    struct yaml_tree *t = NULL;
    enum err_kind kind = yaml_tree_read(yaml, "f", &t, err);

    if (kind == ERR_OK)
        kind = yaml_tree_put_json(t, yaml_tree_root(t), json, err);
    yaml_tree_destroy(&t);
    return kind;
}

static const struct {
    const char *yaml;
    const char *json;
} values[] = {
    ROW("~", "null"),
    ROW("[null, Null, NULL, '', \"\", 'null', nULL]",
        "[null,null,null,\"\",\"\",\"null\",\"nULL\"]"),
    ROW("a:\nb: x", "{\"a\":null,\"b\":\"x\"}"),
    ROW("[true, True, yes, Y, on, ON]", "[true,true,true,true,true,true]"),
    ROW("[false, FALSE, no, n, off, Off]", "[false,false,false,false,false,false]"),
    ROW("['true', \"no\", tRUE, yesterday]", "[\"true\",\"no\",\"tRUE\",\"yesterday\"]"),
    ROW("[0, -0, 12, -7, 1.50, 1e3, 1.5E-3, -2.0e+10]", "[0,-0,12,-7,1.50,1e3,1.5E-3,-2.0e+10]"),
    ROW("['0', \"12\"]", "[\"0\",\"12\"]"),
    ROW("[10.0.0.1, 2030-01-01, 12:30, 1.2.3, 1x, 0b2x, a1, v1.2, 1e, 0x, 9f]",
        "[\"10.0.0.1\",\"2030-01-01\",\"12:30\",\"1.2.3\",\"1x\",\"0b2x\",\"a1\",\"v1.2\","
        "\"1e\",\"0x\",\"9f\"]"),
    ROW("{}", "{}"),
    ROW("[[], {}, [[1]]]", "[[],{},[[1]]]"),
    ROW("{a: {b: [c, {d: e}]}, f: g}", "{\"a\":{\"b\":[\"c\",{\"d\":\"e\"}]},\"f\":\"g\"}"),
    ROW("{yes: 1, 'no': 2, 3: 4, off: 5}", "{\"true\":1,\"no\":2,\"3\":4,\"false\":5}"),
    ROW("|\n  two\n  lines\n", "\"two\\nlines\\n\""),
    ROW("\"a\\tb\\\"c\\u00e9\"", "\"a\\tb\\\"c\xc3\xa9\""),
    ROW("a: &x [1]\nb: *x", "{\"a\":[1],\"b\":[1]}"),
    ROW("{\"json\": [1, 2.5, \"s\", true, null]}", "{\"json\":[1,2.5,\"s\",true,null]}"),
    ROW("!!str x", "\"x\""),
};

static void test_values(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(values); i++) {
        struct buf json = {0};
        struct err err = {0};

        (void)convert(str_c(values[i].yaml), &json, &err);
        assert_string_equal(err.text, "");
        assert_string_equal(buf_cstr(&json), values[i].json);
        buf_free(&json);
    }
}

#define NUMBER                                                                              \
    "JSON does not have this form of a number: write it in decimal, or in quotes if it is " \
    "a string"

static const struct {
    const char *yaml;
    const char *error;
} refused[] = {
    ROW("a:\n- 0x1F", "f:2: " NUMBER),
    ROW("017", "f:1: " NUMBER),
    ROW("0b101", "f:1: " NUMBER),
    ROW("0o17", "f:1: " NUMBER),
    ROW("1_000", "f:1: " NUMBER),
    ROW("+1", "f:1: " NUMBER),
    ROW(".5", "f:1: " NUMBER),
    ROW("5.", "f:1: " NUMBER),
    ROW("-.INF", "f:1: " NUMBER),
    ROW(".nan", "f:1: " NUMBER),
    ROW("a: 1\n\na: 2", "f:3: a is there twice"),
    ROW("~: 1", "f:1: the name of a member must be a string"),
    ROW("[1]: 1", "f:1: the name of a member must be a string"),
    ROW("\"a\\0b\": 1", "f:1: the name of a member must be a string"),
    ROW("a: &x {b: 1}\nc:\n  <<: *x", "f:3: merge keys (<<) are not supported: write it out"),
    ROW("a: !!binary UEVN", "f:1: tags (!) are not supported here"),
    ROW("a: !mine x", "f:1: tags (!) are not supported here"),
    ROW("a: &x\n  b: *x", "f:1: this is deeper than 32 levels or larger than 64 KiB as JSON"),
    ROW("a: &a [xxxxxxxxxxxx, x]\nb: &b [*a, *a, *a, *a, *a, *a, *a, *a]\n"
        "c: &c [*b, *b, *b, *b, *b, *b, *b, *b]\nd: &d [*c, *c, *c, *c, *c, *c, *c, *c]\n"
        "e: [*d, *d, *d, *d, *d, *d, *d, *d, *d, *d]\n",
        "f:1: this is deeper than 32 levels or larger than 64 KiB as JSON"),
};

static void test_what_has_no_form_in_json(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
        struct buf json = {0};
        struct err err = {0};

        assert_int_equal(convert(str_c(refused[i].yaml), &json, &err), ERR_CONFIG);
        assert_string_equal(err.text, refused[i].error);
        assert_int_equal(json.len, 0);
        buf_free(&json);
    }
}

static void test_one_large_string(void **state)
{
    size_t n = (size_t)70 * 1024;
    char *text = mem_alloc(n);
    struct buf json = {0};
    struct err err = {0};

    (void)state;
    memset(text, 'a', n);
    assert_int_equal(convert(str_of(text, n), &json, &err), ERR_CONFIG);
    assert_string_equal(err.text, "f:1: this is larger than 64 KiB as JSON");
    assert_int_equal(convert(str_of(text, (size_t)64 * 1024 - 2), &json, &err), ERR_OK);
    buf_free(&json);
    free(text);
}

/* Windows tools write UTF-16. */
static void test_utf_16(void **state)
{
    static const char le[] = "\xff\xfe{\0a\0:\0 \0\xe9\0}\0";
    static const char be[] = "\xfe\xff\0{\0a\0:\0 \0\xe9\0}";
    const struct str texts[] = {str_of(le, sizeof(le) - 1), str_of(be, sizeof(be) - 1)};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct buf json = {0};
        struct err err = {0};

        (void)convert(texts[i], &json, &err);
        assert_string_equal(err.text, "");
        assert_string_equal(buf_cstr(&json), "{\"a\":\"\xc3\xa9\"}");
        buf_free(&json);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_what_has_no_form_in_json),
        cmocka_unit_test(test_one_large_string),
        cmocka_unit_test(test_utf_16),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
