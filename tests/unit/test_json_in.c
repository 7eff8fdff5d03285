/* SPDX-License-Identifier: Apache-2.0 */
#include "campaign.h"
#include "json_ref.h"

#include <stdio.h>
#include <string.h>

static struct ref_tokens seen;
static struct gen gen;

static int clean_up(void **state)
{
    (void)state;
    buf_free(&seen.texts);
    seen.n = 0;
    gen_free(&gen);
    return 0;
}

/* Gives text to the reader in pieces of the given size, the first one of another. */
static void feed(struct str text, size_t first, size_t piece)
{
    struct json_in *j = json_in_create(JSON_IN_MAX_DEPTH, ref_add, &seen);
    struct err err;

    ref_clear(&seen);
    for (size_t i = 0, n = first; i < text.n; i += n, n = piece) {
        if (n > text.n - i)
            n = text.n - i;
        /* Each piece in memory of its own, so that a sanitizer sees reads beyond it. */
        char *copy = mem_dup(text.p + i, n);
        assert_int_equal(json_in_feed(j, copy, n, &err), ERR_OK);
        free(copy);
    }
    assert_int_equal(json_in_finish(j, &err), ERR_OK);
    json_in_destroy(&j);
    assert_null(j);
}

static void test_tokens_of_a_document(void **state)
{
    static const char text[] = " {\"k\\u0041\" : [ -1.5e3,true, null ] }\n7 \"x\"";
    static const struct {
        enum json_type type;
        unsigned depth;
        const char *text;
        uint64_t end;
    } want[] = {
        {JSON_OBJECT,     0, "",       2 },
        {JSON_KEY,        1, "kA",     11},
        {JSON_ARRAY,      1, "",       15},
        {JSON_NUMBER,     2, "-1.5e3", 22},
        {JSON_TRUE,       2, "",       27},
        {JSON_NULL,       2, "",       33},
        {JSON_ARRAY_END,  1, "",       35},
        {JSON_OBJECT_END, 0, "",       37},
        {JSON_NUMBER,     0, "7",      39},
        {JSON_STRING,     0, "x",      43},
    };

    (void)state;
    feed(str_c(text), sizeof(text), 1);
    assert_int_equal(seen.n, ARRAY_LEN(want));
    for (size_t i = 0; i < seen.n; i++) {
        const struct ref_token *t = &seen.v[i];

        assert_int_equal(t->type, want[i].type);
        assert_int_equal(t->depth, want[i].depth);
        assert_int_equal(t->end, want[i].end);
        assert_true(str_is(str_of(seen.texts.data + t->text_at, t->text_n), want[i].text));
    }
}

/* Streams of random values: cut at every byte, byte by byte, and in pieces of every small size. */
static void test_positions_do_not_depend_on_cuts(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < campaign_size(40, 150); seed++) {
        rng_seed(&gen.rng, seed);
        gen_clear(&gen);
        for (size_t n = gen_below(&gen, 4) + 1; n > 0; n--) {
            gen_value(&gen, 0, 4);
            buf_puts(&gen.text, n % 2 == 0 ? " " : "\n");
        }
        for (size_t cut = 0; cut <= gen.text.len; cut++) {
            feed(buf_str(&gen.text), cut, gen.text.len);
            ref_assert_same(&seen, &gen.tokens);
        }
        for (size_t piece = 1; piece < 9; piece++) {
            feed(buf_str(&gen.text), piece, piece);
            ref_assert_same(&seen, &gen.tokens);
        }
    }
}

/* Strings that end, and escapes that are torn apart, at the edges of pieces. */
static void test_long_strings_in_small_pieces(void **state)
{
    static const char *const pieces[] = {"x", "\\\\", "\\\"", "\\u00e9", "\xc3\xa9", "\\n"};
    static const char *const texts[] = {"x", "\\", "\"", "\xc3\xa9", "\xc3\xa9", "\n"};
    static const size_t sizes[] = {1, 2, 3, 64, 999, 4096};
    struct buf text = {0};
    struct buf want = {0};
    struct rng rng;

    (void)state;
    rng_seed(&rng, 7);
    buf_puts(&text, "[\"");
    for (int i = 0; i < 60000; i++) {
        size_t k = (size_t)rng_between(&rng, 0, ARRAY_LEN(pieces) - 1);

        buf_puts(&text, pieces[k]);
        buf_puts(&want, texts[k]);
    }
    buf_puts(&text, "\",\"next\"]{}");
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        feed(buf_str(&text), sizes[i], sizes[i]);
        assert_int_equal(seen.n, 6);
        assert_true(str_eq(str_of(seen.texts.data, seen.v[1].text_n), buf_str(&want)));
        assert_int_equal(seen.v[1].end, text.len - 10);
        assert_int_equal(seen.v[5].end, text.len);
    }
    buf_free(&text);
    buf_free(&want);
}

static enum err_kind feed_all(const char *text, size_t n, size_t piece, struct err *err)
{
    struct json_in *j = json_in_create(8, ref_add, &seen);
    enum err_kind kind = ERR_OK;

    ref_clear(&seen);
    for (size_t i = 0; kind == ERR_OK && i < n; i += piece)
        kind = json_in_feed(j, text + i, piece < n - i ? piece : n - i, err);
    if (kind != ERR_OK)
        assert_int_equal(json_in_feed(j, "1", 1, NULL), ERR_CLOSED); /* the error stays */
    else
        kind = json_in_finish(j, err);
    json_in_destroy(&j);
    return kind;
}

static void test_texts_that_are_not_json(void **state)
{
    static const char *const bad[] = {
        "{\"secret\":}",   "[secret]",        "{secret:1}", "[1,]",    "[\"secret\\x\"]",
        "[\"secret\n\"]",  "{\"secret\"}",    "]",          "nul ",    "\"secret\xff\" ",
        "\"secret\xc3(\"", "{\"secret\":1,}", "[1 2]",      "- ",      "\"\\u12g4\"",
        "/* secret */ 1",  "\xef\xbb\xbf{}",  "\"a\" : 1",  "[1,\v2]", "{}\f{}",
        "[\"secret\v\"]",  "4\v\"",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        for (size_t piece = 1; piece <= strlen(bad[i]); piece++) {
            struct err err = {0};

            assert_int_equal(feed_all(bad[i], strlen(bad[i]), piece, &err), ERR_PROTOCOL);
            assert_non_null(strstr(err.text, "not valid JSON at byte "));
            assert_null(strstr(err.text, "secret"));
        }
}

static void test_html_is_named(void **state)
{
    struct err err;

    (void)state;
    assert_int_equal(feed_all("\n <!DOCTYPE html>", 17, 17, &err), ERR_PROTOCOL);
    assert_string_equal(err.text, "an HTML or XML page, not JSON");
}

static void test_cut_short(void **state)
{
    static const char *const cut[] = {"{", "[1", "{\"a", "\"x", "{\"a\":1", "tru", "1e", "-"};
    struct err err;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cut); i++) {
        assert_int_equal(feed_all(cut[i], strlen(cut[i]), 1, &err), ERR_CLOSED);
        assert_non_null(strstr(err.text, "cut off"));
    }
    assert_int_equal(feed_all("", 0, 1, &err), ERR_OK);
    assert_int_equal(feed_all(" \n", 2, 1, &err), ERR_OK);
}

static void test_depth_is_bounded(void **state)
{
    struct err err;

    (void)state;
    assert_int_equal(feed_all("[[[[[[[[]]]]]]]]", 16, 3, &err), ERR_OK);
    assert_int_equal(seen.v[8].depth, 7);
    assert_int_equal(feed_all("[[[[{\"a\":[[[[", 13, 3, &err), ERR_TOO_BIG);
    assert_string_equal(err.text, "JSON nested deeper than 8");
}

static void test_numbers_are_bounded(void **state)
{
    char text[2000];
    struct err err;

    (void)state;
    memset(text, '7', sizeof(text));
    text[0] = '[';
    for (size_t digits = 1024; digits < 1026; digits++)
        for (size_t piece = 1; piece < 1200; piece += 7) {
            text[digits + 1] = ']';
            assert_int_equal(feed_all(text, digits + 2, piece, &err),
                             digits == 1024 ? ERR_OK : ERR_TOO_BIG);
            text[digits + 1] = '7';
            assert_int_equal(feed_all(text, sizeof(text), piece, &err), ERR_TOO_BIG);
        }
    assert_string_equal(err.text, "a number in JSON of more than 1024 bytes");
}

static unsigned excesses;

static void count_excess(void *arg, const char *why)
{
    (void)arg;
    (void)why;
    excesses++;
}

/* A reader that tolerates texts over a limit goes on behind them, and the tokens are the same. */
static void test_limits_can_be_tolerated(void **state)
{
    char text[6000];
    size_t n = 0;

    (void)state;
    for (; n < 12; n++)
        text[n] = '[';
    memset(text + n, '7', 5000);
    n += 5000;
    n += (size_t)snprintf(text + n, sizeof(text) - n, ",-1.5]]]]]]]]]]]] \"x\"");
    for (size_t piece = 1; piece < 1500; piece += 3) {
        struct json_in *j = json_in_create(8, ref_add, &seen);

        json_in_tolerate(j, count_excess, SIZE_MAX);
        excesses = 0;
        ref_clear(&seen);
        for (size_t i = 0; i < n; i += piece)
            assert_int_equal(json_in_feed(j, text + i, piece < n - i ? piece : n - i, NULL),
                             ERR_OK);
        assert_int_equal(json_in_finish(j, NULL), ERR_OK);
        json_in_destroy(&j);
        assert_int_equal(excesses, 5);
        assert_int_equal(seen.n, 27);
        assert_int_equal(seen.v[12].text_n, 5000);
        assert_int_equal(seen.v[12].end, 5012);
        assert_int_equal(seen.v[13].text_n, 4);
        assert_int_equal(seen.v[26].end, n);
    }
}

static bool ignore(void *arg, const struct json_token *t)
{
    (void)arg;
    (void)t;
    return true;
}

/* The parser needs a byte for each level. */
static void test_what_is_tolerated_has_an_end(void **state)
{
    struct json_in *j = json_in_create(8, ignore, NULL);
    enum err_kind kind = ERR_OK;
    unsigned levels = 0;
    struct err err;

    (void)state;
    json_in_tolerate(j, count_excess, SIZE_MAX);
    for (; kind == ERR_OK && levels < 200000; levels++)
        kind = json_in_feed(j, "[", 1, &err);
    assert_int_equal(levels, 100001);
    assert_int_equal(kind, ERR_TOO_BIG);
    assert_string_equal(err.text, "JSON nested deeper than 100000");
    json_in_destroy(&j);
}

/* The beginning of a long token in pieces is kept, cut between two characters, and is longer than any text
 * that is compared with it; the token behind it has its right place. */
static void test_long_tokens_may_be_cut(void **state)
{
    static const char *const fills[] = {"x",       "\\n", "\\u00e9", "\xc3\xa9", "\xe2\x82\xac\\\\",
                                        "\\u0041", "7"};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(fills); i++)
        for (size_t piece = 1; piece < 300; piece += 23) {
            struct json_in *j = json_in_create(8, ref_add, &seen);
            struct buf text = {0};

            bool is_number = i == ARRAY_LEN(fills) - 1;

            buf_puts(&text, is_number ? "[" : "[\"");
            while (text.len < 20000)
                buf_puts(&text, fills[i]);
            buf_puts(&text, is_number ? ",1]" : "\",1]");
            json_in_tolerate(j, count_excess, 500);
            ref_clear(&seen);
            for (size_t k = 0; k < text.len; k += piece)
                assert_int_equal(json_in_feed(j, text.data + k,
                                              piece < text.len - k ? piece : text.len - k, NULL),
                                 ERR_OK);
            assert_int_equal(seen.n, 4);
            assert_true(seen.v[1].text_n > 1024 && seen.v[1].text_n < 10000);
            assert_int_equal(seen.v[1].end, text.len - 3);
            assert_int_equal(seen.v[2].end, text.len - 1);
            assert_int_equal(seen.v[3].end, text.len);
            json_in_destroy(&j);
            buf_free(&text);
        }
}

static bool stop_at_key(void *arg, const struct json_token *t)
{
    ref_add(arg, t);
    return t->type != JSON_KEY;
}

static void test_callback_stops(void **state)
{
    struct json_in *j = json_in_create(8, stop_at_key, &seen);

    (void)state;
    ref_clear(&seen);
    assert_int_equal(json_in_feed(j, "[1,{\"a\":2", 9, NULL), ERR_CLOSED);
    assert_int_equal(seen.n, 4);
    assert_int_equal(json_in_feed(j, "3", 1, NULL), ERR_CLOSED);
    assert_int_equal(json_in_finish(j, NULL), ERR_CLOSED);
    assert_int_equal(seen.n, 4);
    json_in_destroy(&j);
}

static void test_idle_is_between_values(void **state)
{
    static const char text[] = " {\"a\":1} 12 \"x\"\n";
    static const char idle[] = "yynnnnnnyynnynnyy"; /* after so many bytes */
    struct json_in *j = json_in_create(8, ref_add, &seen);

    (void)state;
    ref_clear(&seen);
    for (size_t i = 0; i < sizeof(text); i++) {
        assert_int_equal(json_in_idle(j), idle[i] == 'y');
        if (i < sizeof(text) - 1)
            assert_int_equal(json_in_feed(j, text + i, 1, NULL), ERR_OK);
    }
    json_in_destroy(&j);
    json_in_destroy(&j);
}

static void test_scan_takes_exactly_one_value(void **state)
{
    struct err err;

    (void)state;
    ref_clear(&seen);
    assert_int_equal(json_in_scan(str_c(" {\"a\":[]} \n"), ref_add, &seen, &err), ERR_OK);
    assert_int_equal(json_in_scan(str_c("12"), ref_add, &seen, &err), ERR_OK);
    assert_int_equal(json_in_scan(str_c("\"x\""), ref_add, &seen, &err), ERR_OK);
    assert_int_equal(seen.n, 7);
    assert_int_equal(json_in_scan(str_c("{}{}"), ref_add, &seen, &err), ERR_PROTOCOL);
    assert_int_equal(json_in_scan(str_c("1 2"), ref_add, &seen, &err), ERR_PROTOCOL);
    assert_string_equal(err.text, "more than one JSON value");
    assert_int_equal(json_in_scan(str_c("{} x"), ref_add, &seen, &err), ERR_PROTOCOL);
    assert_int_equal(json_in_scan(str_c(" "), ref_add, &seen, &err), ERR_PROTOCOL);
    assert_int_equal(json_in_scan((struct str){0}, ref_add, &seen, &err), ERR_PROTOCOL);
    assert_int_equal(json_in_scan(str_c("[1"), ref_add, &seen, &err), ERR_CLOSED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tokens_of_a_document),
        cmocka_unit_test(test_positions_do_not_depend_on_cuts),
        cmocka_unit_test(test_long_strings_in_small_pieces),
        cmocka_unit_test(test_texts_that_are_not_json),
        cmocka_unit_test(test_html_is_named),
        cmocka_unit_test(test_cut_short),
        cmocka_unit_test(test_depth_is_bounded),
        cmocka_unit_test(test_numbers_are_bounded),
        cmocka_unit_test(test_limits_can_be_tolerated),
        cmocka_unit_test(test_what_is_tolerated_has_an_end),
        cmocka_unit_test(test_long_tokens_may_be_cut),
        cmocka_unit_test(test_callback_stops),
        cmocka_unit_test(test_idle_is_between_values),
        cmocka_unit_test(test_scan_takes_exactly_one_value),
    };

    return cmocka_run_group_tests(tests, NULL, clean_up);
}
