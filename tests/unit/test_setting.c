/* SPDX-License-Identifier: Apache-2.0 */
/* Each kind of value: a valid one is taken, a wrong one is refused with its place and a remedy. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <libconfig.h>

#include "base/compiler.h"
#include "conf/check.h"
#include "conf/setting.h"
#include "conf/setting_print.h"
#include "conf/value.h"

/* A row of a table (clang-format 14 crashes on some with braces). */
#define ROW(...)    \
    {               \
        __VA_ARGS__ \
    }

struct inner {
    struct conf_int depth;
};

struct outer {
    struct conf_str name;
    struct conf_str colour;
    struct inner inner;
};

struct all {
    struct conf_str str;
    struct conf_str filled;
    struct conf_bool boolean;
    struct conf_int integer;
    struct conf_num number;
    struct conf_ms duration;
    struct conf_ms maybe;
    struct conf_size size;
    struct conf_size limit;
    struct conf_word word;
    struct conf_words words;
    struct conf_int code;
    struct conf_int endless;
    struct conf_list list;
    struct conf_ints ints;
    struct conf_span span;
    struct conf_map map;
    struct inner group;
    struct outer *named;
    size_t n_named;
};

static const char *const sides[] = {"left", "right", "both", NULL};

static const char *no_x(const char *text)
{
    return text[0] == 'x' ? "must not begin with x" : NULL;
}

#define ROW_STRUCT struct inner
static const struct setting inner_settings[] = {
    SETTING_ROW(INT, depth, SETTING_DEFAULT("3"), SETTING_RANGE(0, 9)),
    {.key = NULL},
};
#undef ROW_STRUCT

#define ROW_STRUCT struct outer
static const struct setting outer_settings[] = {
    SETTING_ROW(STR, colour, SETTING_RANGE(1, 10)),
    SETTING_ROW(GROUP, inner, .group = inner_settings),
    {.key = NULL},
};
#undef ROW_STRUCT

#define ROW_STRUCT struct all
static const struct setting settings[] = {
    SETTING_ROW(STR, str, SETTING_DEFAULT("\"\""), .check = check_path),
    SETTING_ROW(STR, filled, SETTING_DEFAULT("\"f\""), SETTING_RANGE(1, 5)),
    SETTING_ROW(BOOL, boolean, SETTING_DEFAULT("true")),
    SETTING_ROW(INT, integer, SETTING_DEFAULT("7"), SETTING_RANGE(1, 100)),
    SETTING_ROW(NUM, number, SETTING_DEFAULT("1.5"), SETTING_RANGE(1, 10)),
    SETTING_ROW(MS, duration, SETTING_DEFAULT("\"30s\""), SETTING_RANGE(1, 3600000)),
    SETTING_ROW(MS, maybe, SETTING_DEFAULT("\"off\""), SETTING_RANGE(1000, 60000), .zero = "off"),
    SETTING_ROW(SIZE, limit, SETTING_DEFAULT("\"1KiB\""), SETTING_RANGE(1, 1024), .zero = "none"),
    SETTING_ROW(SIZE, size, SETTING_DEFAULT("\"1MiB\""), SETTING_RANGE(1024, 1073741824)),
    SETTING_ROW(WORD, word, SETTING_DEFAULT("\"right\""), .words = sides),
    SETTING_ROW(WORDS, words, SETTING_DEFAULT("[ \"left\", \"both\" ]"), SETTING_RANGE(1, 9),
                .words = sides),
    SETTING_ROW(CODE, code, SETTING_DEFAULT("\"TERM\""), .code = value_signal,
                .put_code = value_put_signal, .expects = "the name of a signal"),
    SETTING_ROW(LIST, list, SETTING_DEFAULT("[ \"a\" ]"), SETTING_RANGE(0, 3), .check = no_x),
    SETTING_ROW(INT, endless, SETTING_DEFAULT("\"forever\""), SETTING_RANGE(1, 9),
                .zero = "forever"),
    SETTING_ROW(INTS, ints, SETTING_DEFAULT("[ 7 ]"), SETTING_RANGE(1, 255)),
    SETTING_ROW(SPAN, span, SETTING_DEFAULT("[ \"1s\", \"2s\" ]"), SETTING_RANGE(0, 60000)),
    SETTING_ROW(MAP, map, SETTING_DEFAULT("{ A = \"1\"; }"), .check = check_filled,
                .check_name = no_x),
    SETTING_ROW(GROUP, group, .group = inner_settings),
    SETTING_ROW(NAMED, named, .group = outer_settings,
                .named = {sizeof(struct outer), offsetof(struct all, n_named)}),
    {.key = NULL},
};
#undef ROW_STRUCT

/* Reads text over the defaults; the problems go to out, which the caller frees. */
static void read_text(struct all *all, const char *text, struct buf *out)
{
    struct problems problems = {0};
    struct setting_reader r = {.file = "F", .problems = &problems};
    config_t config;

    *all = (struct all){0};
    setting_defaults(settings, all);
    config_init(&config);
    assert_int_equal(config_read_string(&config, text), CONFIG_TRUE);
    setting_read(&r, settings, all, config_root_setting(&config));
    problems_put(&problems, out);
    buf_cstr(out);
    config_destroy(&config);
    problems_free(&problems);
}

static void test_defaults_have_no_file_and_line(void **state)
{
    struct all all;
    struct buf out = {0};

    (void)state;
    read_text(&all, "", &out);
    assert_string_equal(out.data, "");
    assert_string_equal(all.str.v, "");
    assert_true(all.boolean.v);
    assert_int_equal(all.integer.v, 7);
    assert_true(all.number.v > 1.49 && all.number.v < 1.51);
    assert_int_equal(all.duration.v, 30000);
    assert_int_equal(all.maybe.v, 0);
    assert_int_equal(all.limit.v, 1024);
    assert_int_equal(all.size.v, 1048576);
    assert_int_equal(all.word.v, 1);
    assert_int_equal(all.words.v, 5);
    assert_int_equal(all.list.n, 1);
    assert_int_equal(all.endless.v, 0);
    assert_int_equal(all.ints.n, 1);
    assert_int_equal(all.ints.v[0].v, 7);
    assert_int_equal(all.ints.v[0].at.line, 0);
    assert_int_equal(all.span.max_ms, 2000);
    assert_string_equal(all.map.v[0].value, "1");
    assert_int_equal(all.group.depth.v, 3);
    assert_int_equal(all.n_named, 0);
    assert_int_equal(all.integer.at.line, 0);
    assert_null(all.integer.at.file);
    setting_fini(settings, &all);
    buf_free(&out);
}

static void test_every_value_has_its_line(void **state)
{
    struct all all;
    struct buf out = {0};

    (void)state;
    read_text(&all,
              "str = \"/a\";\nboolean = false;\ninteger = 100;\nnumber = 2;\nduration = \"1ms\";\n"
              "maybe = \"1s\"; limit = \"none\"; size = \"1KiB\";\nword = \"both\";\nwords = [ "
              "\"right\" ];\ncode = \"SIGHUP\";\n"
              "list = [ \"b\",\n \"c\" ];\nspan = [ \"0s\", \"1min\" ];\nmap : { B = \"x\"; };\n"
              "group : { depth = 0; };\nnamed : { n1 : { colour = \"red\"; }; };\n"
              "endless = 9; ints = [ 1,\n 255 ];\n",
              &out);
    assert_string_equal(out.data, "");
    assert_string_equal(all.str.v, "/a");
    assert_int_equal(all.str.at.line, 1);
    assert_string_equal(all.str.at.file, "F");
    assert_false(all.boolean.v);
    assert_int_equal(all.integer.v, 100);
    assert_true(all.number.v > 1.99 && all.number.v < 2.01);
    assert_int_equal(all.duration.v, 1);
    assert_int_equal(all.maybe.v, 1000);
    assert_int_equal(all.limit.v, 0);
    assert_int_equal(all.limit.at.line, 6);
    assert_int_equal(all.size.v, 1024);
    assert_int_equal(all.word.v, 2);
    assert_int_equal(all.words.v, 2);
    assert_int_equal(all.code.v, 1);
    assert_int_equal(all.list.n, 2);
    assert_string_equal(all.list.v[1].v, "c");
    assert_int_equal(all.list.v[1].at.line, 11);
    assert_int_equal(all.endless.v, 9);
    assert_int_equal(all.endless.at.line, 16);
    assert_int_equal(all.ints.n, 2);
    assert_int_equal(all.ints.v[1].v, 255);
    assert_int_equal(all.ints.v[1].at.line, 17);
    assert_int_equal(all.span.min_ms, 0);
    assert_int_equal(all.span.max_ms, 60000);
    assert_int_equal(all.map.n, 1);
    assert_string_equal(all.map.v[0].name, "B");
    assert_int_equal(all.map.v[0].at.line, 13);
    assert_int_equal(all.group.depth.v, 0);
    assert_int_equal(all.n_named, 1);
    assert_string_equal(all.named[0].name.v, "n1");
    assert_int_equal(all.named[0].name.at.line, 15);
    assert_int_equal(all.named[0].inner.depth.v, 3);
    setting_fini(settings, &all);
    buf_free(&out);
}

static const struct {
    const char *text;
    const char *problems;
} wrong[] = {
    ROW("str = 5;", "F:1: str must be a string in quotes, not a whole number\n"),
    ROW("str = \"a/b\";", "F:1: str: \"a/b\" must be an absolute path\n"),
    ROW("\nfilled = \"\";", "F:2: filled must not be empty\n"),
    ROW("filled = \"abcdef\";", "F:1: filled is too long: 6 bytes, at most 5\n"),
    ROW("boolean = \"true\";", "F:1: boolean must be true or false, not a string\n"),
    ROW("integer = \"5\";", "F:1: integer must be a whole number without quotes, not a string\n"),
    ROW("integer = 5.0;", "F:1: integer must be a whole number without quotes, not a number\n"),
    ROW("integer = 0;", "F:1: integer: 0 is out of range: 1 to 100\n"),
    ROW("integer = 101;", "F:1: integer: 101 is out of range: 1 to 100\n"),
    ROW("number = 0.5;", "F:1: number: 0.5 is out of range: 1 to 10\n"),
    ROW("number = \"2\";",
        "F:1: number must be a number without quotes, such as 2.0, not a string\n"),
    ROW("duration = 30;",
        "F:1: duration must be a duration in quotes, such as \"30s\", not a whole number\n"),
    ROW("duration = \"30\";", "F:1: duration: \"30\" is no duration: a whole number and ms, s, "
                              "min, h or d, such as \"30s\"\n"),
    ROW("duration = \"0s\";", "F:1: duration: \"0s\" is out of range: 1ms to 1h\n"),
    ROW("duration = \"1d\";", "F:1: duration: \"1d\" is out of range: 1ms to 1h\n"),
    ROW("size = \"16MB\";", "F:1: size: \"16MB\" is no size: a whole number and B, KiB, MiB or "
                            "GiB, such as \"16MiB\"\n"),
    ROW("size = \"1B\";", "F:1: size: \"1B\" is out of range: 1KiB to 1GiB\n"),
    ROW("maybe = 1;", "F:1: maybe must be a duration in quotes, such as \"30s\", or \"off\", not a "
                      "whole number\n"),
    ROW("maybe = \"none\";",
        "F:1: maybe: \"none\" is no duration: a whole number and ms, s, min, h "
        "or d, such as \"30s\", or \"off\"\n"),
    ROW("maybe = \"0s\";", "F:1: maybe: \"0s\" is out of range: 1s to 1min, or \"off\"\n"),
    ROW("limit = \"2KiB\";", "F:1: limit: \"2KiB\" is out of range: 1B to 1KiB, or \"none\"\n"),
    ROW("word = \"up\";", "F:1: word: \"up\" is not one of left, right, both\n"),
    ROW("word = true;", "F:1: word must be a word in quotes, not true or false\n"),
    ROW("words = \"left\";",
        "F:1: words must be an array of words, such as [ \"added\" ], not a string\n"),
    ROW("words = [ ];", "F:1: words must not be empty\n"),
    ROW("words = [ \"left\",\n \"up\" ];",
        "F:2: words[1]: \"up\" is not one of left, right, both\n"),
    ROW("code = \"NO\";", "F:1: code: \"NO\" is not the name of a signal\n"),
    ROW("code = 15;", "F:1: code must be the name of a signal, not a whole number\n"),
    ROW("list = \"a\";",
        "F:1: list must be an array of strings, such as [ \"a\", \"b\" ], not a string\n"),
    ROW("list = [ 1 ];", "F:1: list[0] must be a string in quotes, not a whole number\n"),
    ROW("list = [ \"a\", \"a\", \"a\", \"a\" ];", "F:1: list has 4 elements, 0 to 3 are allowed\n"),
    ROW("list = [ \"a\",\n\"x1\",\n\"x2\" ];",
        "F:2: list[1]: \"x1\" must not begin with x\nF:3: list[2]: \"x2\" must not begin with x\n"),
    ROW("endless = \"never\";", "F:1: endless must be a whole number without quotes, or "
                                "\"forever\", not a string\n"),
    ROW("endless = 0;", "F:1: endless: 0 is out of range: 1 to 9, or \"forever\"\n"),
    ROW("endless = 1.0;",
        "F:1: endless must be a whole number without quotes, or \"forever\", not a "
        "number\n"),
    ROW("ints = 5;",
        "F:1: ints must be an array of whole numbers, such as [ 1, 2 ], not a whole number\n"),
    ROW("ints = [ \"1\" ];", "F:1: ints[0] must be a whole number without quotes, not a string\n"),
    ROW("ints = [ 0,\n 256,\n 5 ];", "F:1: ints[0]: 0 is out of range: 1 to 255\n"
                                     "F:2: ints[1]: 256 is out of range: 1 to 255\n"),
    ROW("ints = [ 5,\n 6, 5 ];", "F:2: ints[2]: 5 stands there twice\n"),
    ROW("span = [ \"1s\" ];",
        "F:1: span must be an array of two durations, such as [ \"200ms\", \"2s\" ]\n"),
    ROW("span = \"1s\";", "F:1: span must be an array of two durations, such as [ \"200ms\", "
                          "\"2s\" ], not a string\n"),
    ROW("span = [ \"2s\", \"1s\" ];",
        "F:1: span: the first duration must not be longer than the second\n"),
    ROW("span = [ \"2s\", \"x\" ];", "F:1: span[1]: \"x\" is no duration: a whole number and ms, "
                                     "s, min, h or d, such as \"30s\"\n"),
    ROW("map = [ \"a\" ];",
        "F:1: map must be a group of strings, such as { NAME = \"value\"; }, not an array [ ]\n"),
    ROW("map : { A = 1; };", "F:1: map.A must be a string in quotes, not a whole number\n"),
    ROW("map : { A = \"\"; };", "F:1: map.A: the value must not be empty\n"),
    ROW("map : { x1 = \"a\"; };", "F:1: map.x1: the name must not begin with x\n"),
    ROW("group = 5;", "F:1: group must be a group { }, not a whole number\n"),
    ROW("group : { depth = 10; };", "F:1: group.depth: 10 is out of range: 0 to 9\n"),
    ROW("group : { dept = 1; };", "F:1: unknown setting group.dept: did you mean depth?\n"),
    ROW("intger = 5;", "F:1: unknown setting intger: did you mean integer?\n"),
    ROW("zzz = 5;", "F:1: unknown setting zzz\n"),
    ROW("named = 5;", "F:1: named must be a group of named groups, such as { NAME : { ... }; }, "
                      "not a whole number\n"),
    ROW("named : { a = 5; };", "F:1: named.a must be a group { }, not a whole number\n"),
    ROW("named : {\n a : { }; };", "F:2: named.a.colour is required\n"),
    ROW("named : { a*b : { }; };",
        "F:1: named.a*b: the name must be letters, digits, - and _, a letter first\n"),
    ROW("named : { a : { colour = \"red\"; inner : { depth = \"x\"; }; }; };",
        "F:1: named.a.inner.depth must be a whole number without quotes, not a string\n"),
};

static void test_each_mistake_is_named(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        struct all all;
        struct buf out = {0};

        read_text(&all, wrong[i].text, &out);
        assert_string_equal(out.data, wrong[i].problems);
        setting_fini(settings, &all);
        buf_free(&out);
    }
}

static void test_refused_value_keeps_default_and_has_a_place(void **state)
{
    struct all all;
    struct buf out = {0};

    (void)state;
    read_text(&all, "\nduration = \"x\"; list = [ \"x\" ]; ints = [ 1, 0 ];", &out);
    assert_int_equal(all.ints.n, 1);
    assert_int_equal(all.ints.v[0].v, 7);
    assert_int_equal(all.ints.at.line, 2);
    assert_int_equal(all.duration.v, 30000);
    assert_int_equal(all.duration.at.line, 2);
    assert_int_equal(all.list.n, 1);
    assert_string_equal(all.list.v[0].v, "a");
    setting_fini(settings, &all);
    buf_free(&out);
}

static void test_problems_are_bounded_and_sorted(void **state)
{
    struct problems p = {0};
    struct buf out = {0};

    (void)state;
    for (int i = 0; i < 150; i++)
        problems_add(&p, (struct where){"F", 150 - i}, "x%d", i);
    assert_int_equal(problems_count(&p), 150);
    assert_true(problems_has(&p, (struct where){"F", 100}));
    assert_false(problems_has(&p, (struct where){"G", 100}));
    problems_put(&p, &out);
    assert_memory_equal(out.data, "F:51: x99\nF:52: x98\n", 20);
    assert_non_null(strstr(buf_cstr(&out), "F:150: x0\n... and 50 more\n"));
    problems_free(&p);
    buf_free(&out);
}

static void test_units(void **state)
{
    uint64_t n = 77;
    int64_t code = 77;

    (void)state;
    assert_false(value_size("999999999999999GiB", &n));
    assert_false(value_size("1KB", &n));
    assert_int_equal(n, 77);
    assert_true(value_size("2GiB", &n));
    assert_int_equal(n, 2147483648);
    assert_true(value_umask("0022", &code));
    assert_int_equal(code, 022);
    assert_false(value_umask("1000", &code));
    assert_false(value_umask("8", &code));
    assert_false(value_umask("", &code));
    assert_false(value_signal("sigterm", &code));
    assert_false(value_signal("SIG", &code));
}

static void test_print(void **state)
{
    struct all all;
    struct buf out = {0};

    (void)state;
    read_text(&all,
              "integer = 9; limit = \"none\"; map : { }; words = [ \"both\", \"left\" ];"
              "named : { n : { colour = \"red\"; }; };",
              &out);
    setting_print(settings, &all, 1, &out);
    assert_string_equal(buf_cstr(&out),
                        " str = \"\";\n filled = \"f\";\n boolean = true;\n integer = 9;\n"
                        " number = 1.5;\n duration = \"30s\";\n maybe = \"off\";\n"
                        " limit = \"none\";\n size = \"1MiB\";\n word = \"right\";\n"
                        " words = [ \"left\", \"both\" ];\n code = \"TERM\";\n"
                        " list = [ \"a\" ];\n endless = \"forever\";\n ints = [ 7 ];\n span = [ "
                        "\"1s\", \"2s\" ];\n map : { };\n"
                        " group : {\n   depth = 3;\n };\n"
                        " named : {\n   n : {\n     colour = \"red\";\n"
                        "     inner : {\n       depth = 3;\n     };\n   };\n };\n");
    setting_fini(settings, &all);
    buf_free(&out);
}

static void test_codes(void **state)
{
    static const char *const bad[] = {"", "%", "50", "50 %", "50%%", "101%", "-1%", "1.5%"};
    struct buf out = {0};
    int64_t code = 77;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_false(value_percent(bad[i], &code));
    assert_int_equal(code, 77);
    assert_true(value_percent("0%", &code));
    value_put_percent(&out, code);
    assert_true(value_percent("100%", &code));
    value_put_percent(&out, code);
    assert_true(value_umask("22", &code));
    value_put_umask(&out, code);
    assert_true(value_signal("SIGUSR2", &code));
    value_put_signal(&out, code);
    assert_string_equal(buf_cstr(&out), "0%100%0022USR2");
    buf_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults_have_no_file_and_line),
        cmocka_unit_test(test_every_value_has_its_line),
        cmocka_unit_test(test_each_mistake_is_named),
        cmocka_unit_test(test_refused_value_keeps_default_and_has_a_place),
        cmocka_unit_test(test_problems_are_bounded_and_sorted),
        cmocka_unit_test(test_units),
        cmocka_unit_test(test_codes),
        cmocka_unit_test(test_print),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
