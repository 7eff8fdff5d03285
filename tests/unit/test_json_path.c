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

/* The values that the paths (ended by NULL) select in text. */
static const char *select_all(const char *text, const char *const *paths)
{
    struct json_path *parsed[8] = {0};
    struct err err = {0};
    size_t n = 0;

    for (; paths[n] != NULL; n++)
        assert_int_equal(json_path_parse(paths[n], &parsed[n], &err), ERR_OK);
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
        PAIR("metadata.name", "1\n\"a\"\n"),
        PAIR(".metadata.name", "1\n\"a\"\n"),
        PAIR("metadata.annotations['example.com/x']", "1\n\"1\"\n"),
        PAIR("metadata.annotations[\"example.com/x\"]", "1\n\"1\"\n"),
        PAIR("metadata.annotations.example\\.com/x", "1\n\"1\"\n"),
        PAIR("metadata.annotations['it\\'s']", "1\n2\n"),
        PAIR("['metadata']['name']", "1\n\"a\"\n"),
        PAIR("metadata.annotations", "1\n{\"example.com/x\":\"1\",\"it's\":2}\n"),
        PAIR("spec.ports[*].port", "2\n80\n443\n"),
        PAIR("spec.ports[0].name", "1\n\"http\"\n"),
        PAIR("spec.ports[1].name", "0\n"),
        PAIR("spec.ports[1]", "1\n{\"port\" : 443, \"x\":null}\n"),
        PAIR("spec.ports[2]", "0\n"),
        PAIR("spec.ports[1].x", "0\n"),
        PAIR("spec.ports.port", "0\n"),
        PAIR("spec[0]", "0\n"),
        PAIR("spec.type", "0\n"),
        PAIR("spec.nothing.at.all", "0\n"),
        PAIR("metadata.name.first", "0\n"),
        PAIR("metadata.*", "2\n\"a\"\n{\"example.com/x\":\"1\",\"it's\":2}\n"),
        PAIR("spec.m[1]", "1\n[3,[4 , 5]]\n"),
        PAIR("spec.m[1][1][0]", "1\n4\n"),
        PAIR("spec.m[*][0]", "2\n1\n3\n"),
        PAIR("spec.m[*][*]", "4\n1\n2\n3\n[4 , 5]\n"),
        PAIR("spec.ports[*].*", "3\n\"http\"\n80\n443\n"),
        PAIR("*.name", "1\n\"a\"\n"),
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_string_equal(select_one(service, cases[i][0]), cases[i][1]);
    assert_string_equal(select_one("[1,{\"a\":2}]", "[1].a"), "1\n2\n");
    assert_string_equal(select_one("12", "a"), "0\n");
    assert_string_equal(select_one("{\"caf\\u00e9\":1}", "caf\xc3\xa9"), "1\n1\n");
}

static void test_many_paths_in_one_pass(void **state)
{
    static const char *const paths[] = {"spec.ports[*].port", "nothing", "metadata.name",
                                        "spec.ports[0].port", NULL};

    (void)state;
    assert_string_equal(select_all(service, paths), "2\n80\n443\n0\n1\n\"a\"\n1\n80\n");
    assert_string_equal(select_all(service, (const char *const[]){NULL}), "");
}

/* A value that moves from one path to the next one counts as a difference, whatever it looks
 * like. */
static void test_many_paths_are_distinguished(void **state)
{
    static const char *const texts[] = {
        "{\"a\":[0,1],\"b\":[]}", "{\"a\":[0],\"b\":[1]}", "{\"a\":[],\"b\":[0,1]}",
        "{\"a\":[1,0],\"b\":[]}", "{\"a\":[1],\"b\":[0]}", "{\"a\":[\"0\\n1\"],\"b\":[]}",
    };
    static const char *const paths[] = {"a[*]", "b[*]", NULL};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        char *one = mem_strdup(select_all(texts[i], paths));

        for (size_t k = 0; k < ARRAY_LEN(texts); k++)
            assert_int_equal(strcmp(one, select_all(texts[k], paths)) == 0, i == k);
        free(one);
    }
}

static void test_absent_is_null(void **state)
{
    (void)state;
    char *absent = mem_strdup(select_one("{\"b\":1}", "a"));
    assert_string_equal(select_one("{\"a\": null ,\"b\":1}", "a"), absent);
    assert_string_not_equal(select_one("{\"a\":\"\"}", "a"), absent);
    assert_string_equal(select_one("{\"a\":3}", "a.b[0].c"), absent);
    assert_string_equal(select_one("{\"a\":{\"0\":1}}", "a[0]"), absent);
    assert_string_equal(select_one("{\"a\":[1]}", "a.0"), absent);
    assert_string_equal(select_one("null", "a"), absent);
    free(absent);
}

/* ---- Values for environment variables. */

static enum err_kind values_of(const char *text, const char *const *paths, size_t n,
                               struct buf *found, struct err *err)
{
    struct json_path *parsed[8] = {0};

    for (size_t i = 0; i < n; i++) {
        assert_int_equal(json_path_parse(paths[i], &parsed[i], NULL), ERR_OK);
        buf_free(&found[i]);
    }
    enum err_kind kind =
        json_path_values((const struct json_path *const *)parsed, n, str_c(text), found, err);
    for (size_t i = 0; i < n; i++)
        json_path_destroy(&parsed[i]);
    return kind;
}

static void test_values_are_written_as_kubectl_does(void **state)
{
    static const char text[] =
        "{\"s\":\"a \\\"b\\\"\\n\\u00e9\", \"n\": -1.50e3 "
        ",\"t\":true,\"f\":false,\"z\":null,\"e\":\"\",\n"
        " \"o\" : { \"x\" : [1, \"\\u00e9\"] } "
        ",\"l\":[\"p\",null,2,\"\",[3],{\"q\":4}],\"i\":[],\"w\":[\"\",\"\",\"x\"]}";
    static const char *const cases[][2] = {
        PAIR("s", "a \"b\"\n\xc3\xa9"),
        PAIR("n", "-1.50e3"),
        PAIR("t", "true"),
        PAIR("f", "false"),
        PAIR("z", ""),
        PAIR("e", ""),
        PAIR("absent", ""),
        PAIR("s.absent", ""),
        PAIR("o", "{ \"x\" : [1, \"\\u00e9\"] }"),
        PAIR("o.x[1]", "\xc3\xa9"),
        PAIR("l[*]", "p 2  [3] {\"q\":4}"),
        PAIR("l[*].q", "4"),
        PAIR("i", "[]"),
        PAIR("i[*]", ""),
        PAIR("w[*]", "  x"),
    };
    static const char *paths[ARRAY_LEN(cases)];
    struct buf found[ARRAY_LEN(cases)] = {0};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        assert_int_equal(values_of(text, &cases[i][0], 1, found, NULL), ERR_OK);
        assert_string_equal(buf_cstr(found), cases[i][1]);
        paths[i] = cases[i][0];
    }
    for (size_t i = 0; i + 8 <= ARRAY_LEN(cases); i++) {
        assert_int_equal(values_of(text, paths + i, 8, found, NULL), ERR_OK);
        for (size_t k = 0; k < 8; k++)
            assert_string_equal(buf_cstr(&found[k]), cases[i + k][1]);
    }
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        buf_free(&found[i]);
}

static void test_a_value_with_nul_is_refused(void **state)
{
    static const char *const paths[] = {"a", "b", "c"};
    struct buf found[3] = {0};
    struct err err = {0};

    (void)state;
    assert_int_equal(
        values_of("{\"a\":\"1\",\"b\":\"x\\u0000y\",\"c\":\"\\u0000\"}", paths, 3, found, &err),
        ERR_CONFIG);
    assert_non_null(strstr(err.text, "path 'b': the value holds a NUL byte"));
    /* In the bytes of a container the NUL is an escape. */
    assert_int_equal(values_of("{\"a\":[\"\\u0000\"]}", paths, 3, found, &err), ERR_OK);
    assert_string_equal(buf_cstr(&found[0]), "[\"\\u0000\"]");
    assert_int_equal(values_of("{\"a\":\"\\u0000\"", paths, 3, found, &err), ERR_CLOSED);
    for (size_t i = 0; i < ARRAY_LEN(found); i++)
        buf_free(&found[i]);
}

/* ---- Writing. */

static void test_steps_are_read_back(void **state)
{
    static const char *const names[] = {
        "a", "a-b_9", "",    "a.b/c", "it's", "\\",          "\\'",
        "*", "[0]",   "a b", "{}",    "\"",   "caf\xc3\xa9", "0",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        struct json_path *p = NULL;

        buf_clear(&out);
        assert_true(json_path_put_member(&out, str_c(names[i])));
        assert_true(json_path_put_index(&out, JSON_PATH_MAX_INDEX));
        assert_true(json_path_put_member(&out, str_c(names[i])));
        assert_int_equal(json_path_parse(buf_cstr(&out), &p, NULL), ERR_OK);
        assert_int_equal(json_path_length(p), 3);
        for (size_t k = 0; k < 3; k += 2) {
            assert_int_equal(json_path_step(p, k).kind, JSON_PATH_MEMBER);
            assert_true(str_is(json_path_step(p, k).name, names[i]));
        }
        assert_int_equal(json_path_step(p, 1).index, JSON_PATH_MAX_INDEX);
        json_path_destroy(&p);
    }
}

static void test_steps_are_one_line_and_bounded(void **state)
{
    char *name = mem_printf("%01025d", 0);

    (void)state;
    buf_puts(&out, "a");
    for (int c = 0; c < 256; c++) {
        const char one[] = {'x', (char)c};
        bool fine = c >= 0x20 && c != 0x7f;

        out.len = 1;
        assert_int_equal(json_path_put_member(&out, str_of(one, 2)), fine);
        assert_int_equal(out.len > 1, fine);
    }
    out.len = 1;
    assert_false(json_path_put_member(&out, str_c(name)));
    assert_false(json_path_put_index(&out, JSON_PATH_MAX_INDEX + 1));
    assert_string_equal(buf_cstr(&out), "a");
    assert_true(json_path_put_member(&out, str_c(name + 1)));
    free(name);
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

static size_t naive_count;

static void naive_put(size_t i, struct buf *want)
{
    size_t from = i > 0 ? (size_t)gen.tokens.v[i - 1].end : 0;
    size_t to = (size_t)gen.tokens.v[skip_value(i) - 1].end;

    while (strchr(" \t\r\n,:", gen.text.data[from]) != NULL)
        from++;
    buf_append(want, gen.text.data + from, to - from);
    buf_putc(want, '\n');
    naive_count++;
}

/* Token i begins a value; steps is the rest of the path. */
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

/* A step, and its text behind path. */
static struct naive_step random_step(struct buf *path)
{
    size_t kind = gen_below(&gen, 4);
    const char *name = gen_below(&gen, 2) == 0 ? "a" : "";
    struct naive_step step = {kind == 0 ? name : NULL, (int)gen_below(&gen, 3)};

    if (kind > 1)
        step.index = -1;
    if (kind == 0)
        buf_printf(path, "['%s']", name);
    else if (kind == 1)
        buf_printf(path, "[%d]", step.index);
    else
        buf_puts(path, "[*]");
    return step;
}

static void test_random_documents(void **state)
{
    struct buf values = {0};
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
        for (size_t i = 0; i < n; i++)
            steps[i] = random_step(&path);
        buf_clear(&values);
        buf_clear(&want);
        naive_count = 0;
        naive_select(0, steps, n, &values);
        buf_printf(&want, "%zu\n", naive_count);
        buf_append_str(&want, buf_str(&values));
        selected += naive_count > 0;
        assert_string_equal(select_one(buf_cstr(&gen.text), buf_cstr(&path)), buf_cstr(&want));
    }
    assert_true(selected > 500);
    buf_free(&values);
    buf_free(&want);
    buf_free(&path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_selects, clear),
        cmocka_unit_test_teardown(test_many_paths_in_one_pass, clear),
        cmocka_unit_test_teardown(test_many_paths_are_distinguished, clear),
        cmocka_unit_test_teardown(test_absent_is_null, clear),
        cmocka_unit_test_teardown(test_values_are_written_as_kubectl_does, clear),
        cmocka_unit_test_teardown(test_a_value_with_nul_is_refused, clear),
        cmocka_unit_test_teardown(test_steps_are_read_back, clear),
        cmocka_unit_test_teardown(test_steps_are_one_line_and_bounded, clear),
        cmocka_unit_test_teardown(test_bad_paths_say_where, clear),
        cmocka_unit_test_teardown(test_bad_text_leaves_out_alone, clear),
        cmocka_unit_test_teardown(test_random_documents, clear),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
