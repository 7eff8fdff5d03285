/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/json_diff.h"

#include "campaign.h"
#include "json_model.h"
#include "proto/json_path.h"
#include "proto/path_list.h"

#include <string.h>

static struct buf out;

static int clear(void **state)
{
    (void)state;
    buf_free(&out);
    return 0;
}

static const char *diff_up_to(const char *a, const char *b, size_t limit)
{
    struct err err = {0};

    buf_clear(&out);
    assert_int_equal(json_diff(str_c(a), str_c(b), limit, &out, &err), ERR_OK);
    return buf_cstr(&out);
}

static void assert_diff(const char *a, const char *b, const char *wanted)
{
    assert_string_equal(diff_up_to(a, b, 100), wanted);
    assert_string_equal(diff_up_to(b, a, 100), wanted);
    assert_string_equal(diff_up_to(a, a, 100), "");
}

static void test_the_deepest_path_that_differs_is_found(void **state)
{
    static const char *const cases[][3] = {
        {"{\"a\":1}",                     "{\"a\":2}",                     "a\n"               },
        {"{\"a\":{\"b\":1}}",             "{\"a\":{\"b\":\"1\"}}",         "a.b\n"             },
        {"{\"a\":{\"b\":1}}",             "{\"a\":{\"b\":{\"c\":1}}}",     "a.b\n"             },
        {"{\"a\":{}}",                    "{\"a\":[]}",                    "a\n"               },
        {"{\"a\":{}}",                    "{\"a\":{\"b\":{\"c\":1}}}",     "a.b\n"             },
        {"{\"a\":null}",                  "{}",                            "a\n"               },
        {"{\"a\":true}",                  "{\"a\":false}",                 "a\n"               },
        {"{\"a\":1}",                     "{\"a\":1.0}",                   "a\n"               },
        {"{\"a\":[1,2,3]}",               "{\"a\":[1,4]}",                 "a[1]\na[2]\n"      },
        {"{\"a\":[[1],[2]]}",             "{\"a\":[[1],[2,3]]}",           "a[1][1]\n"         },
        {"{\"p\":[{\"x\":1},{\"x\":2}]}", "{\"p\":[{\"x\":1},{\"x\":3}]}", "p[1].x\n"          },
        {"[{\"a\":1}]",                   "[{\"a\":2}]",                   "[0].a\n"           },
        {"{\"b\":1,\"a\":1,\"c\":1}",     "{\"a\":2,\"c\":2,\"b\":2}",     "a\nb\nc\n"         },
        {"{\"a\":1,\"b\":1,\"c\":1}",     "{\"a\":1,\"c\":2}",             "b\nc\n"            },
        {"{\"m\":{\"a/b\":1}}",           "{\"m\":{\"a/b\":2}}",           "m['a/b']\n"        },
        {"{\"m\":{\"\":1}}",              "{\"m\":{\"\":2}}",              "m['']\n"           },
        {"{\"m\":{\"it's \\\\\":1}}",     "{\"m\":{\"it's \\\\\":2}}",     "m['it\\'s \\\\']\n"},
        {"{\"a-b\":1,\"a\":{\"c\":1}}",   "{\"a-b\":2,\"a\":{\"c\":2}}",   "a-b\na.c\n"        },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_diff(cases[i][0], cases[i][1], cases[i][2]);
}

static void test_another_form_of_the_same_value_is_no_difference(void **state)
{
    (void)state;
    assert_diff("{\"a\":1,\"b\":[1,2]}", " { \"b\" : [ 1 ,\n2 ] , \"a\" : 1 } ", "");
    assert_diff("{\"a\":\"\xc3\xa9/\"}", "{\"\\u0061\":\"\\u00e9\\/\"}", "");
    assert_diff("{\"a\":\"\\n\",\"b\":\"\\t\"}", "{\"b\":\"\\u0009\",\"a\":\"\\u000a\"}", "");
    assert_diff("{\"a\":\"\\\"\"}", "{\"a\":\"\\\\\"}", "a\n");
}

static void test_a_creation_timestamp_that_is_null_is_absent(void **state)
{
    (void)state;
    assert_diff("{\"creationTimestamp\":null}", "{}", "");
    assert_diff("{\"a\":[{\"b\":1,\"creationTimestamp\":null,\"c\":2}],\"d\":1}",
                "{\"a\":[{\"b\":1,\"c\":2}],\"d\":2}", "d\n");
    assert_diff("{\"creationTimestamp\":null,\"a\":1}", "{\"a\":2}", "a\n");
    assert_diff("{\"creationTimestamp\":\"now\"}", "{}", "creationTimestamp\n");
    assert_diff("{\"creationTimestamp\":null}", "{\"creationTimestamp\":0}", "creationTimestamp\n");
}

static void test_many_strings_with_escapes_are_read(void **state)
{
    struct buf a = {0};
    struct buf b = {0};

    (void)state;
    for (int i = 0; i < 200; i++) {
        int k = 199 - i;

        buf_printf(&a, "%c\"\\u0061%d\":\"\\u0062%d\"", i > 0 ? ',' : '{', i, i);
        buf_printf(&b, "%c\"a%d\":\"%c%d\"", i > 0 ? ',' : '{', k, k == 77 ? 'c' : 'b', k);
    }
    buf_putc(&a, '}');
    buf_putc(&b, '}');
    assert_diff(buf_cstr(&a), buf_cstr(&b), "a77\n");
    buf_free(&a);
    buf_free(&b);
}

static void test_a_value_without_a_path_counts_for_its_container(void **state)
{
    (void)state;
    assert_diff("1", "2", "*\n");
    assert_diff("{}", "[]", "*\n");
    assert_diff("{\"a\\nb\":1}", "{}", "*\n");
    assert_diff("{\"x\":{\"a\\u007f\":{\"b\":1},\"\\u0000\":[1]},\"y\":1}",
                "{\"x\":{\"a\\u007f\":{\"b\":2},\"\\u0000\":[2]},\"y\":1}", "x\n");
    assert_diff("{\"x\":{\"\\u0001\":1,\"b\":{\"c\":1}}}",
                "{\"x\":{\"\\u0001\":2,\"b\":{\"c\":2}}}", "x\nx.b.c\n");
}

/* Names that are too long, and more steps than a path may have, up to the depth that JSON itself
 * may have. */
static void test_paths_stay_within_bounds(void **state)
{
    char *name = mem_printf("%01024d", 0);
    struct buf a = {0};
    struct buf b = {0};
    struct buf want = {0};

    (void)state;
    buf_printf(&a, "{\"m\":{\"%s1\":1,\"%s\":1}}", name, name);
    buf_printf(&b, "{\"m\":{\"%s1\":2,\"%s\":2}}", name, name);
    buf_printf(&want, "m\nm.%s\n", name);
    assert_diff(buf_cstr(&a), buf_cstr(&b), buf_cstr(&want));
    buf_clear(&a);
    buf_clear(&b);
    buf_clear(&want);
    for (int i = 0; i < JSON_IN_MAX_DEPTH; i++) {
        buf_putc(&a, '[');
        buf_putc(&b, '[');
        buf_puts(&want, i < JSON_PATH_MAX_STEPS ? "[0]" : "");
    }
    buf_putc(&a, '1');
    buf_putc(&b, '2');
    buf_putc(&want, '\n');
    for (int i = 0; i < JSON_IN_MAX_DEPTH; i++) {
        buf_putc(&a, ']');
        buf_putc(&b, ']');
    }
    assert_diff(buf_cstr(&a), buf_cstr(&b), buf_cstr(&want));
    free(name);
    buf_free(&a);
    buf_free(&b);
    buf_free(&want);
}

static void test_too_many_paths_are_cut_to_their_first_steps(void **state)
{
    static const char a[] =
        "{\"a\":{\"b\":[1,1,1],\"c\":{\"d\":1,\"e\":1}},\"f\":1,\"g\":{\"h\":1}}";
    static const char b[] =
        "{\"a\":{\"b\":[2,2,2],\"c\":{\"d\":2,\"e\":2}},\"f\":2,\"g\":{\"h\":1}}";

    (void)state;
    assert_string_equal(diff_up_to(a, b, 6), "a.b[0]\na.b[1]\na.b[2]\na.c.d\na.c.e\nf\n");
    assert_string_equal(diff_up_to(a, b, 5), "a.b\na.c\nf\n");
    assert_string_equal(diff_up_to(a, b, 3), "a.b\na.c\nf\n");
    assert_string_equal(diff_up_to(a, b, 2), "a\nf\n");
    assert_string_equal(diff_up_to(a, b, 1), "*\n");
}

static void test_a_bad_text_leaves_lines_alone(void **state)
{
    struct buf many = {0};
    struct err err = {0};

    (void)state;
    buf_puts(&out, "x\n");
    assert_int_equal(json_diff(str_c("{"), str_c("{}"), 1, &out, &err), ERR_CLOSED);
    assert_int_equal(json_diff(str_c("{}"), str_c("{]"), 1, &out, &err), ERR_PROTOCOL);
    assert_int_equal(json_diff(str_c("{}"), str_c(""), 1, &out, &err), ERR_PROTOCOL);
    buf_putc(&many, '[');
    for (int i = 0; i < 1000000; i++)
        buf_puts(&many, i > 0 ? ",1" : "1");
    buf_putc(&many, ']');
    assert_int_equal(json_diff(str_c("{}"), buf_str(&many), 1, &out, &err), ERR_TOO_BIG);
    assert_non_null(strstr(err.text, "more than 1000000 values"));
    assert_string_equal(buf_cstr(&out), "x\n");
    assert_int_equal(json_diff(str_c("{}"), str_c("[]"), 1, &out, &err), ERR_OK);
    assert_string_equal(buf_cstr(&out), "x\n*\n");
    buf_free(&many);
}

/* The diff reads only the part of b that differs. With white space before b it reads all of b, and
 * the result must be the same. */
static void assert_part_is_enough(struct str a, struct str b, size_t limit)
{
    struct buf whole = {0};
    struct buf got = {0};
    struct buf want = {0};

    buf_putc(&whole, ' ');
    buf_append_str(&whole, b);
    enum err_kind kind = json_diff(a, b, limit, &got, NULL);
    assert_int_equal(kind, json_diff(a, buf_str(&whole), limit, &want, NULL));
    assert_string_equal(buf_cstr(&got), buf_cstr(&want));
    buf_free(&whole);
    buf_free(&got);
    buf_free(&want);
}

static void test_a_difference_may_end_elsewhere_than_it_begins(void **state)
{
    static const char *const cases[][3] = {
        {"{\"a\":[1],\"b\":[2]}",     "{\"a\":[1,3],\"b\":[2]}",    "a[1]\n"            },
        {"{\"a\":[1,[2]],\"b\":[2]}", "{\"a\":[1],\"b\":[[2],2]}",  "a[1]\nb[0]\nb[1]\n"},
        {"{\"a\":{\"b\":1}}",         "{\"a\":{},\"c\":{\"b\":1}}", "a.b\nc\n"          },
        {"[[1],[2]]",                 "[[1],[3],[2]]",              "[1][0]\n[2]\n"     },
        {"[[],[]]",                   "[[],[],[]]",                 "[2]\n"             },
        {"{\"a\":{\"b\":1}}",         "{\"a\":[1]}",                "a\n"               },
        {"{\"a\":{\"b\":\"]\"}}",     "{\"a\":{\"b\":\"}\"}}",      "a.b\n"             },
        {"{\"a\":[\"x\"]}",           "{\"a\":[\"\\u0078\"]}",      ""                  },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_diff(cases[i][0], cases[i][1], cases[i][2]);
}

static void test_names_that_occur_twice_are_compared_in_pairs(void **state)
{
    (void)state;
    assert_diff("{\"a\":1,\"a\":2}", "{\"a\":1,\"a\":3}", "a\n");
    assert_diff("{\"a\":1,\"b\":0,\"a\":2}", "{\"a\":2,\"a\":1,\"b\":0}", "a\n");
    assert_diff("{\"a\":1,\"a\":1}", "{\"a\":1}", "a\n");
    assert_diff("{\"b\":0,\"a\":1,\"a\":2}", "{\"a\":1,\"a\":2,\"b\":0}", "");
    assert_diff("{\"b\":0,\"a\":1,\"a\":2}", "{\"a\":1,\"a\":3,\"b\":0}", "a\n");
}

/* ---- Against a naive diff of random values. */

enum { HEIGHT = 4, STEPS = 2 * HEIGHT /* more than a path of such values has */ };

struct world {
    struct gen gen;
    struct model *a;
    struct model *b;
    size_t told;
    size_t cut;
};

static void world_init(struct world *w, uint64_t seed)
{
    rng_seed(&w->gen.rng, seed);
    w->a = model_random(&w->gen, HEIGHT);
    w->b = model_changed(w->a, &w->gen);
}

static void world_fini(struct world *w)
{
    model_free(&w->a);
    model_free(&w->b);
}

static void diff_models(struct world *w, enum model_style style, size_t limit, struct buf *lines)
{
    struct buf a = {0};
    struct buf b = {0};

    model_put(w->a, style, &w->gen, &a);
    model_put(w->b, style, &w->gen, &b);
    assert_int_equal(json_diff(buf_str(&a), buf_str(&b), limit, lines, NULL), ERR_OK);
    buf_free(&a);
    buf_free(&b);
}

/* Cut by json_diff() or afterwards, the paths are the same. */
static void assert_cut_alike(struct world *w, size_t limit, struct buf *want)
{
    struct buf all = {0};

    diff_models(w, MODEL_LOOSE, SIZE_MAX, &all);
    path_list_limit(&all, limit);
    assert_string_equal(buf_cstr(&all), buf_cstr(want));
    buf_free(&all);
}

static void test_a_naive_diff_finds_the_same(void **state)
{
    const size_t seeds = campaign_size(500, 3000);
    struct world w = {0};

    (void)state;
    for (uint64_t seed = 0; seed < seeds; seed++) {
        struct buf got = {0};
        struct buf want = {0};
        size_t max = STEPS;

        world_init(&w, seed);
        size_t limit = gen_below(&w.gen, 12) + 1;
        model_diff(w.a, w.b, max, &want);
        w.told += want.len > 0;
        while (path_list_sort(&want) > limit) {
            buf_clear(&want);
            model_diff(w.a, w.b, --max, &want);
        }
        w.cut += max < STEPS;
        diff_models(&w, MODEL_LOOSE, limit, &got);
        assert_string_equal(buf_cstr(&got), buf_cstr(&want));
        assert_cut_alike(&w, limit, &want);
        buf_free(&got);
        buf_free(&want);
        world_fini(&w);
    }
    assert_true(w.told > seeds / 3);
    assert_true(w.cut > seeds / 15);
}

/* Overwrites up to two bytes of the text, which may be no JSON any more. */
static void spoil(struct gen *gen, struct buf *text)
{
    static const char bytes[] = "{}[],:\"\\01ax ";

    for (size_t n = gen_below(gen, 3); n > 0; n--)
        text->data[gen_below(gen, text->len)] = bytes[gen_below(gen, sizeof(bytes) - 1)];
}

static void test_a_part_of_the_other_text_is_enough(void **state)
{
    const size_t seeds = campaign_size(1000, 6000);
    struct world w = {0};
    size_t bad = 0;

    (void)state;
    for (uint64_t seed = 0; seed < seeds; seed++) {
        struct buf a = {0};
        struct buf b = {0};

        world_init(&w, seed);
        model_put(w.a, MODEL_EXACT, NULL, &a);
        model_put(seed % 2 == 0 ? w.a : w.b, MODEL_EXACT, NULL, &b);
        if (seed % 4 < 2)
            spoil(&w.gen, &b);
        bad += json_diff(buf_str(&b), str_c("1"), 1, &out, NULL) != ERR_OK;
        assert_part_is_enough(buf_str(&a), buf_str(&b), gen_below(&w.gen, 12) + 1);
        buf_free(&a);
        buf_free(&b);
        world_fini(&w);
    }
    assert_in_range(bad, seeds / 6, seeds / 6 * 5);
}

static struct str next_line(struct str *rest)
{
    const char *end = memchr(rest->p, '\n', rest->n);
    struct str line = str_of(rest->p, (size_t)(end - rest->p));

    *rest = str_of(end + 1, rest->n - line.n - 1);
    return line;
}

static void select_in(const struct model *m, struct str line, struct buf *found)
{
    char *text = mem_strndup(line.p, line.n);
    struct json_path *path = NULL;
    struct buf json = {0};

    assert_int_equal(json_path_parse(text, &path, NULL), ERR_OK);
    model_put(m, MODEL_EXACT, NULL, &json);
    const struct json_path *const paths[] = {path};
    assert_int_equal(json_path_select(paths, 1, buf_str(&json), found, NULL), ERR_OK);
    json_path_destroy(&path);
    buf_free(&json);
    free(text);
}

static void test_each_path_selects_something_else(void **state)
{
    const size_t seeds = campaign_size(250, 1500);
    struct world w = {0};

    (void)state;
    for (uint64_t seed = 0; seed < seeds; seed++) {
        struct buf lines = {0};

        world_init(&w, seed);
        diff_models(&w, MODEL_EXACT, gen_below(&w.gen, 12) + 1, &lines);
        for (struct str rest = buf_str(&lines); rest.n > 0; w.told++) {
            struct buf was = {0};
            struct buf is = {0};
            struct str line = next_line(&rest);

            select_in(w.a, line, &was);
            select_in(w.b, line, &is);
            if (!str_is(line, "*"))
                assert_false(str_eq(buf_str(&was), buf_str(&is)));
            buf_free(&was);
            buf_free(&is);
        }
        buf_free(&lines);
        world_fini(&w);
    }
    assert_true(w.told > seeds / 3 * 2);
}

/* Does one of the paths lead to the leaf ("PATH\tTEXT"), or to a value that holds it? */
static bool covered(struct str lines, struct str leaf)
{
    while (lines.n > 0) {
        struct str line = next_line(&lines);

        if (str_is(line, "*"))
            return true;
        if (line.n < leaf.n && memcmp(line.p, leaf.p, line.n) == 0 &&
            strchr(".[\t", leaf.p[line.n]) != NULL)
            return true;
    }
    return false;
}

static bool has_line(struct str lines, struct str line)
{
    while (lines.n > 0) {
        if (str_eq(next_line(&lines), line))
            return true;
    }
    return false;
}

static size_t check_leaves(struct str here, struct str there, struct str lines)
{
    size_t n = 0;

    while (here.n > 0) {
        struct str leaf = next_line(&here);

        if (has_line(there, leaf))
            continue;
        assert_true(covered(lines, leaf));
        n++;
    }
    return n;
}

static void test_each_leaf_that_differs_is_covered(void **state)
{
    const size_t seeds = campaign_size(250, 1500);
    struct world w = {0};

    (void)state;
    for (uint64_t seed = 0; seed < seeds; seed++) {
        struct buf lines = {0};
        struct buf a = {0};
        struct buf b = {0};

        world_init(&w, seed);
        model_put_leaves(w.a, &a);
        model_put_leaves(w.b, &b);
        diff_models(&w, MODEL_LOOSE, gen_below(&w.gen, 12) + 1, &lines);
        w.told += check_leaves(buf_str(&a), buf_str(&b), buf_str(&lines));
        w.told += check_leaves(buf_str(&b), buf_str(&a), buf_str(&lines));
        buf_free(&lines);
        buf_free(&a);
        buf_free(&b);
        world_fini(&w);
    }
    assert_true(w.told > seeds / 3 * 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_the_deepest_path_that_differs_is_found, clear),
        cmocka_unit_test_teardown(test_another_form_of_the_same_value_is_no_difference, clear),
        cmocka_unit_test_teardown(test_a_creation_timestamp_that_is_null_is_absent, clear),
        cmocka_unit_test_teardown(test_many_strings_with_escapes_are_read, clear),
        cmocka_unit_test_teardown(test_a_value_without_a_path_counts_for_its_container, clear),
        cmocka_unit_test_teardown(test_paths_stay_within_bounds, clear),
        cmocka_unit_test_teardown(test_too_many_paths_are_cut_to_their_first_steps, clear),
        cmocka_unit_test_teardown(test_a_bad_text_leaves_lines_alone, clear),
        cmocka_unit_test_teardown(test_a_difference_may_end_elsewhere_than_it_begins, clear),
        cmocka_unit_test_teardown(test_names_that_occur_twice_are_compared_in_pairs, clear),
        cmocka_unit_test(test_a_naive_diff_finds_the_same),
        cmocka_unit_test_teardown(test_a_part_of_the_other_text_is_enough, clear),
        cmocka_unit_test(test_each_path_selects_something_else),
        cmocka_unit_test(test_each_leaf_that_differs_is_covered),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
