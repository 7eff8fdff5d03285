/* SPDX-License-Identifier: Apache-2.0 */
/* Warning headers: each text once, whatever stands around it. */
#include "kube/warnings.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"

/* All new texts of these header lines, each in brackets. The lines are read from a copy, so that a
 * sanitizer sees a read behind them. */
static void expect(struct warnings *w, const char *lines, const char *wanted)
{
    size_t n = strlen(lines);
    char *exact = mem_dup(lines, n);
    struct str rest = str_of(exact, n);
    struct buf text = {0};
    struct buf all = {0};

    while (warnings_next(w, &rest, &text))
        buf_printf(&all, "[%s]", buf_cstr(&text));
    assert_string_equal(buf_cstr(&all), wanted);
    buf_free(&all);
    buf_free(&text);
    free(exact);
}

static void test_each_text_is_given_out_once(void **state)
{
    struct warnings w = {0};

    (void)state;
    expect(&w, "299 - \"v1 Endpoints is deprecated\"", "[v1 Endpoints is deprecated]");
    expect(&w, "299 - \"v1 Endpoints is deprecated\"\n299 - \"another\"", "[another]");
    expect(&w, "299 - \"another\"", "");
    expect(&w, "", "");
}

static void test_what_servers_may_write(void **state)
{
    static const char *const cases[][2] = {
        {"299 - \"a\", 299 - \"b\",299 - \"c\"",                       "[a][b][c]"           },
        {"299 - \"a\"\n\n299 - \"b\"\n",                               "[a][b]"              },
        {"299 kube-apiserver \"say \\\"no\\\" to C:\\\\\"",            "[say \"no\" to C:\\]"},
        {"299 - \"a\" \"Sat, 25 Aug 2012 23:34:45 GMT\", 299 - \"b\"", "[a][b]"              },
        {"  299  -  \"a, b\"  ",                                       "[a, b]"              },
        {"299 - \"\xc3\xa4\"",                                         "[\xc3\xa4]"          },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct warnings w = {0};

        expect(&w, cases[i][0], cases[i][1]);
    }
}

/* Other codes are about caches on the way. A header that is no warning ends at the end of its line. */
static void test_what_is_no_warning_for_people(void **state)
{
    static const char *const cases[] = {
        "110 - \"Response is Stale\"",
        "199 - \"Miscellaneous\"",
        "299",
        "299 -",
        "299 - ",
        "299 - a",
        "299 - \"",
        "299 - \"a",
        "299 - \"a\\\"",
        "299 - \"a\\",
        "299 - \"\"",
        "299 \"a\"",
        "\"a\"",
        ",",
        " ",
        "x",
        "299 - a \"b\" 299 - \"c\"",
        "0299 - \"a\"",
        "\n",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct warnings w = {0};
        char *more = mem_printf("%s\n299 - \"good\"", cases[i]);

        expect(&w, cases[i], "");
        expect(&w, more, "[good]");
        free(more);
    }
}

static void test_cut_at_every_byte(void **state)
{
    static const char whole[] =
        "299 - \"a \\\"b\\\"\" \"Sat, 25 Aug 2012 23:34:45 GMT\", 299 - \"c\"\n299 - \"d\"";

    (void)state;
    for (size_t n = 0; n <= sizeof(whole) - 1; n++) {
        struct warnings w = {0};
        char *part = mem_strndup(whole, n);
        bool has_a = n >= sizeof("299 - \"a \\\"b\\\"\"") - 1;
        bool has_c = strstr(part, "\"c\"") != NULL;
        bool has_d = n == sizeof(whole) - 1;
        char *wanted =
            mem_printf("%s%s%s", has_a ? "[a \"b\"]" : "", has_c ? "[c]" : "", has_d ? "[d]" : "");

        expect(&w, part, wanted);
        free(wanted);
        free(part);
    }
}

static void test_a_long_text_is_cut(void **state)
{
    struct warnings w = {0};
    struct buf lines = {0};
    struct buf text = {0};

    (void)state;
    buf_puts(&lines, "299 - \"");
    for (int i = 0; i < 4000; i++)
        buf_putc(&lines, 'x');
    buf_putc(&lines, '"');
    struct str rest = buf_str(&lines);
    assert_true(warnings_next(&w, &rest, &text));
    assert_int_equal(text.len, 1024);
    assert_false(warnings_next(&w, &rest, &text));
    buf_free(&text);
    buf_free(&lines);
}

static void test_a_server_that_has_always_something_new_to_say_is_not_heard(void **state)
{
    struct warnings w = {0};

    (void)state;
    for (int i = 0; i < WARNINGS_MAX + 3; i++) {
        char line[64];
        char wanted[64];

        (void)snprintf(line, sizeof(line), "299 - \"text %d\"", i);
        (void)snprintf(wanted, sizeof(wanted), "[text %d]", i);
        expect(&w, line, i < WARNINGS_MAX ? wanted : "");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_text_is_given_out_once),
        cmocka_unit_test(test_what_servers_may_write),
        cmocka_unit_test(test_what_is_no_warning_for_people),
        cmocka_unit_test(test_cut_at_every_byte),
        cmocka_unit_test(test_a_long_text_is_cut),
        cmocka_unit_test(test_a_server_that_has_always_something_new_to_say_is_not_heard),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
