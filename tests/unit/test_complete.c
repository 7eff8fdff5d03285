/* SPDX-License-Identifier: Apache-2.0 */
/* The candidates that need no daemon; tests/wire/test_ctl_complete.py has names, and the shells. */
#include "ctl/complete.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ctl/args.h"

/* Completes these words, behind a socket at which nobody answers. */
static void expect(const char *const *words, const char *candidates)
{
    const char *line[10] = {"--socket", "/nowhere/at/all"};
    struct buf out = {0};
    int n = 2;

    for (; words[n - 2] != NULL; n++)
        line[n] = words[n - 2];
    complete_words(&out, n, line);
    assert_string_equal(buf_cstr(&out), candidates);
    buf_free(&out);
}

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

static void test_commands_and_fixed_arguments(void **state)
{
    (void)state;
    expect(WORDS("re"), "record\nresume\nrelist\nreload\n");
    expect(WORDS("guard", ""), "accept\nreject\n");
    expect(WORDS("guard", "accept", ""), ""); /* names of watches: nobody answers */
    expect(WORDS("guard", "accept", "w", ""), "");
    expect(WORDS("log-level", ""), "error\nwarn\ninfo\ndebug\ntrace\ndefault\n");
    expect(WORDS("log-level", "debug", ""), "");
    expect(WORDS("wait", ""), ""); /* the conditions belong to --for */
    expect(WORDS("verify", "w", ""), "");
    expect(WORDS("nothing", ""), "");
}

static void test_options_are_those_of_the_command(void **state)
{
    (void)state;
    expect(WORDS("wait", "--"), "--socket\n--output\n--timeout\n--for\n--help\n--version\n");
    expect(WORDS("hooks", "--w"), "");
    expect(WORDS("run", "--w"), "--wait\n");
    expect(WORDS("record", "--w"), "--with-secrets\n");
    expect(WORDS("--w"), "--watch\n--wait\n--with-secrets\n");
}

static void test_values_of_options(void **state)
{
    (void)state;
    expect(WORDS("hooks", "-o", "w"), "wide\n");
    expect(WORDS("hooks", "-ojson", ""), ""); /* it has its value */
    expect(WORDS("hooks", "--output=n"), "--output=name\n");
    expect(WORDS("hooks", "--output", "=", "n"), "name\n");
    expect(WORDS("hooks", "--output", "="), "json\nname\nwide\ntable\n");
    expect(WORDS("wait", "--for", "i"), "idle\n");
    expect(WORDS("wait", "--timeout", "1"), "");
    expect(WORDS("--frobnicate=x"), "");
}

static void test_any_number_of_words(void **state)
{
    struct buf out = {0};

    (void)state;
    complete_words(&out, 0, NULL);
    assert_int_equal(out.len, 0);
    expect(WORDS("get", "a", "b", "c", "d", "e", ""), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_commands_and_fixed_arguments),
        cmocka_unit_test(test_options_are_those_of_the_command),
        cmocka_unit_test(test_values_of_options),
        cmocka_unit_test(test_any_number_of_words),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
