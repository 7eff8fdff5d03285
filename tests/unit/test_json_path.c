/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/json_path.h"

#include "json_ref.h"

#include <string.h>

#define PAIR(text, wanted) \
    {                      \
        (text), (wanted)   \
    }

static struct buf out;
static struct gen gen;

static int clear(void **state)
{
    (void)state;
    buf_free(&out);
    gen_free(&gen);
    return 0;
}

/* What the paths (ended by NULL) select in text. */
static const char *select_all(const char *text, const char *const *paths)
{
    struct json_path *parsed[8] = {0};
    struct err err = {0};
    size_t n = 0;

    for (; paths[n] != NULL; n++) {
        assert_int_equal(json_path_parse(paths[n], &parsed[n], &err), ERR_OK);
        assert_string_equal(json_path_text(parsed[n]), paths[n]);
    }
    buf_clear(&out);
    assert_int_equal(
        json_path_select((const struct json_path *const *)parsed, n, str_c(text), &out, &err),
        ERR_OK);
    for (size_t i = 0; i < n; i++)
        json_path_destroy(&parsed[i]);
    return buf_cstr(&out);
}

static const char *select_one(const char *text, const char *path)
{
    return select_all(text, (const char *const[]){path, NULL});
}

static const char service[] =
    "{\"metadata\":{\"name\":\"a\",\"annotations\":{\"example.com/x\":\"1\",\"it's\":2}},\n"
    " \"spec\" : {\"ports\": [ {\"name\":\"http\",\"port\":80},{\"port\" : 443, \"x\":null} ],"
    "\"type\":null, \"m\":[[1,2],[3,[4 , 5]]]}}";

static void test_selects(void **state)
{
    static const char *const cases[][2] = {
        PAIR("metadata.name", "0\n\"a\"\n"),
        PAIR(".metadata.name", "0\n\"a\"\n"),
        PAIR("metadata.annotations['example.com/x']", "0\n\"1\"\n"),
        PAIR("metadata.annotations[\"example.com/x\"]", "0\n\"1\"\n"),
        PAIR("metadata.annotations.example\\.com/x", "0\n\"1\"\n"),
        PAIR("metadata.annotations['it\\'s']", "0\n2\n"),
        PAIR("['metadata']['name']", "0\n\"a\"\n"),
        PAIR("metadata.annotations", "0\n{\"example.com/x\":\"1\",\"it's\":2}\n"),
        PAIR("spec.ports[*].port", "0\n80\n443\n"),
        PAIR("spec.ports[0].name", "0\n\"http\"\n"),
        PAIR("spec.ports[1].name", "0\n"),
        PAIR("spec.ports[1]", "0\n{\"port\" : 443, \"x\":null}\n"),
        PAIR("spec.ports[2]", "0\n"),
        PAIR("spec.ports[1].x", "0\n"),
        PAIR("spec.ports.port", "0\n"),
        PAIR("spec[0]", "0\n"),
        PAIR("spec.type", "0\n"),
        PAIR("spec.nothing.at.all", "0\n"),
        PAIR("metadata.name.first", "0\n"),
        PAIR("metadata.*", "0\n\"a\"\n{\"example.com/x\":\"1\",\"it's\":2}\n"),
        PAIR("spec.m[1]", "0\n[3,[4 , 5]]\n"),
        PAIR("spec.m[1][1][0]", "0\n4\n"),
        PAIR("spec.m[*][0]", "0\n1\n3\n"),
        PAIR("spec.m[*][*]", "0\n1\n2\n3\n[4 , 5]\n"),
        PAIR("spec.ports[*].*", "0\n\"http\"\n80\n443\n"),
        PAIR("*.name", "0\n\"a\"\n"),
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_string_equal(select_one(service, cases[i][0]), cases[i][1]);
    assert_string_equal(select_one("[1,{\"a\":2}]", "[1].a"), "0\n2\n");
    assert_string_equal(select_one("12", "a"), "0\n");
    assert_string_equal(select_one("{\"caf\\u00e9\":1}", "caf\xc3\xa9"), "0\n1\n");
}

static void test_many_paths_in_one_pass(void **state)
{
    static const char *const paths[] = {"spec.ports[*].port", "nothing", "metadata.name",
                                        "spec.ports[0].port", NULL};

    (void)state;
    assert_string_equal(select_all(service, paths), "0\n80\n443\n1\n2\n\"a\"\n3\n80\n");
    assert_string_equal(select_all(service, (const char *const[]){NULL}), "");
}

static void test_absent_is_null(void **state)
{
    (void)state;
    char *absent = mem_strdup(select_one("{\"b\":1}", "a"));
    assert_string_equal(select_one("{\"a\": null ,\"b\":1}", "a"), absent);
    assert_string_not_equal(select_one("{\"a\":\"\"}", "a"), absent);
    free(absent);
}

static void test_bad_paths_say_where(void **state)
{
    static const char *const cases[][2] = {
        PAIR("", "character 1: expected a member name or *"),
        PAIR("a.", "character 3: expected a member name or *"),
        PAIR("a..b", "character 3: expected a member name or *"),
        PAIR("a[", "character 3: expected an index, * or a quoted name"),
        PAIR("a[-1]", "character 3: expected an index, * or a quoted name"),
        PAIR("a[?(@.x)]", "character 3: expected an index, * or a quoted name"),
        PAIR("a[1", "character 4: expected ']'"),
        PAIR("a[1:2]", "character 4: expected ']'"),
        PAIR("a['b", "character 5: expected a closing '"),
        PAIR("a[\"b]", "character 6: expected a closing \""),
        PAIR("a['b'", "character 6: expected ']'"),
        PAIR("a[0]b", "character 5: expected '.', '[' or the end"),
        PAIR("a b", "character 2: expected '.', '[' or the end"),
        PAIR("{.a}", "character 1: expected the path without braces"),
        PAIR("a*", "character 2: expected '.', '[' or the end"),
        PAIR("a[99999999999999999999]", "expected a smaller index"),
        PAIR("a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a", "too many steps"),
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct json_path *p = NULL;
        struct err err = {0};

        assert_int_equal(json_path_parse(cases[i][0], &p, &err), ERR_CONFIG);
        assert_null(p);
        assert_non_null(strstr(err.text, cases[i][1]));
    }
}

static void test_bad_text_leaves_out_alone(void **state)
{
    struct json_path *p = NULL;
    struct err err;

    (void)state;
    assert_int_equal(json_path_parse("a", &p, &err), ERR_OK);
    buf_puts(&out, "before");
    const struct json_path *const paths[] = {p};
    assert_int_equal(json_path_select(paths, 1, str_c("{\"a\":1"), &out, &err), ERR_CLOSED);
    assert_int_equal(json_path_select(paths, 1, str_c("{\"a\":1,}"), &out, &err), ERR_PROTOCOL);
    assert_int_equal(json_path_select(paths, 1, str_c(""), &out, &err), ERR_PROTOCOL);
    assert_string_equal(buf_cstr(&out), "before");
    json_path_destroy(&p);
    json_path_destroy(&p);
}

/* ---- Against a naive evaluator that walks the tokens of random documents. */

struct naive_step {
    const char *name; /* NULL: index, or all */
    int index;        /* -1: all */
};

static size_t skip_value(size_t i)
{
    const struct ref_token *t = gen.tokens.v;
    size_t k = i + 1;

    if (t[i].type != JSON_OBJECT && t[i].type != JSON_ARRAY)
        return k;
    while (t[k].depth != t[i].depth)
        k++;
    return k + 1;
}

static void naive_put(size_t i, struct buf *want)
{
    size_t from = i > 0 ? (size_t)gen.tokens.v[i - 1].end : 0;
    size_t to = (size_t)gen.tokens.v[skip_value(i) - 1].end;

    while (strchr(" \t\r\n,:", gen.text.data[from]) != NULL)
        from++;
    buf_append(want, gen.text.data + from, to - from);
    buf_putc(want, '\n');
}

/* Token i begins a value; steps are what is left of the path. */
static void naive_select(size_t i, const struct naive_step *steps, size_t n, struct buf *want)
{
    const struct ref_token *t = gen.tokens.v;
    bool object = t[i].type == JSON_OBJECT;
    int index = 0;

    if (n == 0) {
        if (t[i].type != JSON_NULL)
            naive_put(i, want);
        return;
    }
    if (!object && t[i].type != JSON_ARRAY)
        return;
    for (size_t k = i + 1; t[k].depth != t[i].depth; k = skip_value(k), index++) {
        struct str key = str_of(gen.tokens.texts.data + t[k].text_at, t[k].text_n);
        bool all = steps->name == NULL && steps->index < 0;

        if (object)
            k++;
        if (all || (object && steps->name != NULL && str_is(key, steps->name)) ||
            (!object && steps->name == NULL && steps->index == index))
            naive_select(k, steps + 1, n - 1, want);
    }
}

static void test_random_documents(void **state)
{
    struct buf want = {0};
    struct buf path = {0};
    size_t selected = 0;

    (void)state;
    for (uint64_t seed = 0; seed < 4000; seed++) {
        struct naive_step steps[4];

        rng_seed(&gen.rng, seed);
        gen_clear(&gen);
        buf_clear(&path);
        gen_value(&gen, 0, 5);
        size_t n = gen_below(&gen, ARRAY_LEN(steps)) + 1;
        for (size_t i = 0; i < n; i++) {
            size_t kind = gen_below(&gen, 4);
            const char *name = gen_below(&gen, 2) == 0 ? "a" : "";

            steps[i] = (struct naive_step){kind == 0 ? name : NULL, (int)gen_below(&gen, 3)};
            if (kind > 1)
                steps[i].index = -1;
            if (kind == 0)
                buf_printf(&path, "['%s']", name);
            else if (kind == 1)
                buf_printf(&path, "[%d]", steps[i].index);
            else
                buf_puts(&path, "[*]");
        }
        buf_clear(&want);
        buf_puts(&want, "0\n");
        naive_select(0, steps, n, &want);
        selected += want.len > 2;
        assert_string_equal(select_one(buf_cstr(&gen.text), buf_cstr(&path)), buf_cstr(&want));
    }
    assert_true(selected > 500);
    buf_free(&want);
    buf_free(&path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_selects, clear),
        cmocka_unit_test_teardown(test_many_paths_in_one_pass, clear),
        cmocka_unit_test_teardown(test_absent_is_null, clear),
        cmocka_unit_test_teardown(test_bad_paths_say_where, clear),
        cmocka_unit_test_teardown(test_bad_text_leaves_out_alone, clear),
        cmocka_unit_test_teardown(test_random_documents, clear),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
