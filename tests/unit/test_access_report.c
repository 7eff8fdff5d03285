/* SPDX-License-Identifier: Apache-2.0 */
/* app/access_report: the text of a report, whatever servers say. */
#include "app/access_report.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void expect(struct access_report **r, bool is_ok, const char *want)
{
    struct buf out = {0};

    access_report_put(&out, *r);
    assert_string_equal(buf_cstr(&out), want);
    assert_int_equal(access_report_is_ok(*r), is_ok);
    buf_free(&out);
    access_report_destroy(r);
    access_report_destroy(r);
}

static void test_blocks_and_rows_keep_their_order(void **state)
{
    struct access_report *r = access_report_create();
    size_t a = access_report_add_block(r, "cluster a");
    size_t b = access_report_add_block(r, "cluster b");

    (void)state;
    access_report_add(r, b, ACCESS_OK, "dns", "b1");
    access_report_add(r, a, ACCESS_OK, "dns", "a1");
    access_report_add(r, b, ACCESS_NOT_OK, "watch pods", "b2");
    access_report_add(r, a, ACCESS_SKIPPED, "tls", "a2");
    access_report_add(r, a, ACCESS_UNKNOWN, "api", "a3");
    access_report_add(r, a, ACCESS_WARNING, "api", "a4");
    expect(&r, false,
           "cluster a\n"
           "  ok       dns         a1\n"
           "  skipped  tls         a2\n"
           "  unknown  api         a3\n"
           "  warning  api         a4\n"
           "\n"
           "cluster b\n"
           "  ok       dns         b1\n"
           "  not ok   watch pods  b2\n"
           "\n"
           "not ok: 1 of 5 checks, 1 warning, 1 not decidable\n");
}

static void test_only_not_ok_is_not_ok(void **state)
{
    static const enum access_verdict good[] = {ACCESS_OK, ACCESS_WARNING, ACCESS_UNKNOWN,
                                               ACCESS_SKIPPED};
    struct access_report *r = access_report_create();
    size_t a = access_report_add_block(r, "a");

    (void)state;
    for (size_t i = 0; i < 2 * ARRAY_LEN(good); i++)
        access_report_add(r, a, good[i % ARRAY_LEN(good)], "x", "");
    assert_true(access_report_is_ok(r));
    access_report_add(r, a, ACCESS_NOT_OK, "x", "");
    assert_false(access_report_is_ok(r));
    access_report_destroy(&r);
    r = access_report_create();
    a = access_report_add_block(r, "a");
    access_report_add(r, a, ACCESS_OK, "x", "y");
    expect(&r, true, "a\n  ok       x  y\n\nok: 1 check\n");
    r = access_report_create();
    expect(&r, true, "ok: 0 checks\n");
}

/* A row is one line and sends no escape sequence to a terminal. */
static void test_what_a_server_says_cannot_forge_rows(void **state)
{
    struct access_report *r = access_report_create();
    size_t a = access_report_add_block(r, "a\nb");

    (void)state;
    access_report_add(r, a, ACCESS_OK, "x\033[2J", "no\n  ok       watch  yes\r\x7f");
    access_report_add(r, a, ACCESS_OK, "y", "J\xc3\xb6rg \xc2\x9b \xff \xc3");
    expect(&r, true,
           "a\\nb\n"
           "  ok       x\\u001b[2J  no\\n  ok       watch  yes\\u000d\\u007f\n"
           "  ok       y           J\xc3\xb6rg \\u009b \\u00ff \\u00c3\n"
           "\nok: 2 checks\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blocks_and_rows_keep_their_order),
        cmocka_unit_test(test_only_not_ok_is_not_ok),
        cmocka_unit_test(test_what_a_server_says_cannot_forge_rows),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
