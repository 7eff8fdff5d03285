/* SPDX-License-Identifier: Apache-2.0 */
/* base/str: numbers at the beginning of a text, and several texts in one block. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/str.h"

static void expect(const char *text, bool taken, uint64_t number, const char *rest)
{
    struct str s = str_c(text);
    uint64_t n = 1;

    assert_int_equal(str_take_u64(&s, &n), taken);
    assert_int_equal(n, number);
    assert_true(str_is(s, rest));
}

static void test_null_is_the_same_as_null_only(void **state)
{
    char copy[] = "a";

    (void)state;
    assert_true(str_same(NULL, NULL) && str_same("", "") && str_same("a", copy));
    assert_false(str_same(NULL, "") || str_same("", NULL) || str_same("a", "b"));
}

static void test_a_number_ends_at_the_first_byte_that_is_no_digit(void **state)
{
    (void)state;
    expect("0", true, 0, "");
    expect("907", true, 907, "");
    expect("007 x", true, 7, " x");
    expect("12.5", true, 12, ".5");
    expect("3/", true, 3, "/");
    expect("3:", true, 3, ":");
}

static void test_no_number_takes_nothing(void **state)
{
    (void)state;
    expect("", false, 0, "");
    expect("x1", false, 0, "x1");
    expect(" 1", false, 0, " 1");
    expect("-1", false, 0, "-1");
}

static void test_a_number_does_not_wrap(void **state)
{
    (void)state;
    expect("18446744073709551615x", true, UINT64_MAX, "x");
    expect("018446744073709551615", true, UINT64_MAX, "");
    expect("18446744073709551616", false, 0, "18446744073709551616");
    expect("18446744073709551620", false, 0, "18446744073709551620");
    expect("99999999999999999999", false, 0, "99999999999999999999");
}

static void test_a_view_may_end_in_the_middle_of_a_number(void **state)
{
    struct str s = str_of("1234", 2);
    uint64_t n;

    (void)state;
    assert_true(str_take_u64(&s, &n));
    assert_int_equal(n, 12);
    assert_int_equal(s.n, 0);
}

static void test_texts_go_one_behind_the_other(void **state)
{
    char block[8] = "........";
    char *at = block;

    (void)state;
    struct str a = str_put(&at, str_c("ab"));
    struct str none = str_put(&at, (struct str){0});
    struct str b = str_put(&at, str_c("cde"));
    assert_true(str_is(a, "ab") && a.p == block);
    assert_int_equal(none.n, 0);
    assert_true(str_is(b, "cde") && b.p == block + 2);
    assert_ptr_equal(at, block + 5);
    assert_int_equal(block[5], '.');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_null_is_the_same_as_null_only),
        cmocka_unit_test(test_a_number_ends_at_the_first_byte_that_is_no_digit),
        cmocka_unit_test(test_no_number_takes_nothing),
        cmocka_unit_test(test_a_number_does_not_wrap),
        cmocka_unit_test(test_a_view_may_end_in_the_middle_of_a_number),
        cmocka_unit_test(test_texts_go_one_behind_the_other),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
