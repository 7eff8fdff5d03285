/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/json_value.h"

#include "campaign.h"
#include "json_model.h"

#include <string.h>

static uint64_t digest(const char *text)
{
    return json_value_digest(str_c(text));
}

static void test_white_space_the_order_of_members_and_escapes_make_no_difference(void **state)
{
    static const char *const same[][2] = {
        {"{\"a\":1,\"b\":[1,2]}", " { \"b\" : [ 1 ,\n2 ] ,\t\"a\" : 1 }\r\n"},
        {"{\"a\":\"<\"}",         "{\"a\":\"\\u003c\"}"                     },
        {"{\"a\":\"<\"}",         "{\"\\u0061\":\"\\u003C\"}"               },
        {"\"a/b\"",               "\"a\\/b\""                               },
        {"\"\xc3\xa9\"",          "\"\\u00e9\""                             },
        {"\"\xf0\x9f\x98\x80\"",  "\"\\ud83d\\ude00\""                      },
        {"\"\\n\\t\\\"\\\\\"",    "\"\\u000a\\u0009\\u0022\\u005c\""        },
        {"[{\"a\":{},\"b\":[]}]", "[ {\"b\":[ ],\"a\":{ }}]"                },
        {"1 2",                   " 1\n2\n"                                 },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(same); i++)
        assert_int_equal(digest(same[i][0]), digest(same[i][1]));
}

static void test_a_creation_timestamp_that_is_null_is_absent(void **state)
{
    (void)state;
    assert_int_equal(digest("{\"creationTimestamp\":null}"), digest("{}"));
    assert_int_equal(digest("{\"a\":[{\"b\":1,\"creationTimestamp\" : null}]}"),
                     digest("{\"a\":[{\"b\":1}]}"));
    assert_int_equal(digest("{\"creation\\u0054imestamp\":null,\"b\":1}"), digest("{\"b\":1}"));
    assert_int_not_equal(digest("{\"creationTimestamp\":\"null\"}"), digest("{}"));
    assert_int_not_equal(digest("{\"creationTimestamp\":0}"), digest("{}"));
    assert_int_not_equal(digest("{\"deletionTimestamp\":null}"), digest("{}"));
    assert_int_not_equal(digest("[null]"), digest("[]"));
}

static void test_a_member_whose_value_was_cut_out_is_absent(void **state)
{
    (void)state;
    assert_int_equal(digest("{\"generation\":,\"a\":1}"), digest("{\"a\":1}"));
    assert_int_equal(digest("{\"a\":1,\"generation\": }"), digest("{\"a\":1}"));
}

static void test_different_values_have_different_digests(void **state)
{
    static const char *const all[] = {
        "null",
        "0",
        "1",
        "1.0",
        "12",
        "1 2",
        "2 1",
        "true",
        "false",
        "\"\"",
        "\"1\"",
        "\"true\"",
        "\"12\"",
        "\"21\"",
        "\" \"",
        "\"  \"",
        "[]",
        "[[]]",
        "[] []",
        "{}",
        "[{}]",
        "[1]",
        "[1,1]",
        "[1,2]",
        "[2,1]",
        "[[1],2]",
        "[[1,2]]",
        "[1,[2]]",
        "{\"a\":1}",
        "{\"a\":\"1\"}",
        "{\"a\":1,\"b\":1}",
        "{\"a\":1,\"b\":2}",
        "{\"a\":2,\"b\":1}",
        "{\"a\":{\"b\":1}}",
        "{\"b\":{\"a\":1}}",
        "{\"a\":{},\"b\":1}",
        "{\"a\":[{\"b\":1}]}",
        "{\"a\":null}",
        "{\"a\":1,\"a\":1}",
        "{\"1\":\"a\"}",
        "[\"a\",1]",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        for (size_t k = 0; k < i; k++)
            assert_int_not_equal(digest(all[i]), digest(all[k]));
}

/* Copies text, and puts a null creationTimestamp behind some of the braces that open an object. */
static void put_void_members(struct buf *out, struct gen *g, struct str text)
{
    bool in_string = false;

    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];

        buf_putc(out, c);
        if (c == '\\')
            buf_putc(out, text.p[++i]);
        if (c == '"')
            in_string = !in_string;
        if (c != '{' || in_string || gen_below(g, 2) == 0)
            continue;
        buf_puts(out, "\"creationTimestamp\": null");
        if (text.p[i + 1] != '}')
            buf_putc(out, ',');
    }
}

static void test_equal_values_have_equal_digests_and_others_do_not(void **state)
{
    const size_t seeds = campaign_size(2000, 100000);
    size_t equal = 0;

    (void)state;
    for (uint64_t seed = 0; seed < seeds; seed++) {
        struct gen g = {0};
        struct buf text[5] = {0};

        rng_seed(&g.rng, seed);
        struct model *a = model_random(&g, 5);
        struct model *b = model_changed(a, &g);

        model_put(a, MODEL_EXACT, NULL, &text[0]);
        model_put(b, MODEL_EXACT, NULL, &text[1]);
        model_put(a, MODEL_LOOSE, &g, &text[2]);
        model_put(b, MODEL_LOOSE, &g, &text[3]);
        put_void_members(&text[4], &g, buf_str(&text[2]));
        bool same = str_eq(buf_str(&text[0]), buf_str(&text[1]));
        uint64_t of_a = json_value_digest(buf_str(&text[4]));
        assert_int_equal(of_a, json_value_digest(buf_str(&text[2])));
        assert_int_equal(of_a == json_value_digest(buf_str(&text[3])), same);
        equal += same;
        model_free(&a);
        model_free(&b);
        for (size_t i = 0; i < ARRAY_LEN(text); i++)
            buf_free(&text[i]);
        gen_free(&g);
    }
    assert_in_range(equal, seeds / 10, seeds / 10 * 9);
}

/* Nested as deep as the JSON reader allows, and deeper. */
static void test_deeply_nested_values_are_read(void **state)
{
    struct buf a = {0};
    struct buf b = {0};

    (void)state;
    for (int depth = JSON_IN_MAX_DEPTH; depth <= 1000000; depth *= 100) {
        buf_clear(&a);
        for (int i = 0; i < depth; i++)
            buf_putc(&a, '[');
        buf_putc(&a, '1');
        for (int i = 0; i < depth; i++)
            buf_putc(&a, ']');
        buf_clear(&b);
        buf_append_str(&b, buf_str(&a));
        b.data[depth] = '2';
        assert_int_not_equal(json_value_digest(buf_str(&a)), json_value_digest(buf_str(&b)));
    }
    buf_free(&a);
    buf_free(&b);
}

/* Any bytes, in memory of just that size. */
static void test_bytes_that_are_no_json_are_read_to_their_end_and_no_further(void **state)
{
    static const char some[] = "{}[]\",:\\u1n ";
    const size_t seeds = campaign_size(20000, 1000000);

    (void)state;
    assert_int_equal(json_value_digest((struct str){0}), digest(""));
    for (uint64_t seed = 0; seed < seeds; seed++) {
        struct gen g = {0};

        rng_seed(&g.rng, seed);
        size_t n = gen_below(&g, 20);
        char *text = mem_alloc(n);
        for (size_t i = 0; i < n; i++)
            text[i] = some[gen_below(&g, sizeof(some))];
        uint64_t first = json_value_digest(str_of(text, n));
        assert_int_equal(json_value_digest(str_of(text, n)), first);
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_white_space_the_order_of_members_and_escapes_make_no_difference),
        cmocka_unit_test(test_a_creation_timestamp_that_is_null_is_absent),
        cmocka_unit_test(test_a_member_whose_value_was_cut_out_is_absent),
        cmocka_unit_test(test_different_values_have_different_digests),
        cmocka_unit_test(test_equal_values_have_equal_digests_and_others_do_not),
        cmocka_unit_test(test_deeply_nested_values_are_read),
        cmocka_unit_test(test_bytes_that_are_no_json_are_read_to_their_end_and_no_further),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
