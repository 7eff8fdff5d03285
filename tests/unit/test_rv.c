/* SPDX-License-Identifier: Apache-2.0 */
/* kube/rv: the order of resourceVersions, and which texts have none (docs/kubernetes-protocol.md
 * "Order of versions"). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "kube/rv.h"

static enum rv_order order(const char *a, const char *b)
{
    return rv_order(str_c(a), str_c(b));
}

static void test_a_longer_number_is_newer(void **state)
{
    (void)state;
    assert_int_equal(order("9", "10"), RV_OLDER);
    assert_int_equal(order("10", "9"), RV_NEWER);
    assert_int_equal(order("99999999999999999999999999", "100000000000000000000000000"), RV_OLDER);
}

static void test_equal_length_is_compared_by_digits(void **state)
{
    (void)state;
    assert_int_equal(order("1", "1"), RV_SAME);
    assert_int_equal(order("1234", "1235"), RV_OLDER);
    assert_int_equal(order("2000", "1999"), RV_NEWER);
    assert_int_equal(order("18446744073709551616", "18446744073709551616"), RV_SAME);
}

static void test_texts_that_are_no_numbers_have_no_order(void **state)
{
    static const char *const bad[] = {"", "0", "01", "-1", "+1", "1.0", "1a", "a1", " 1", "1 "};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        assert_int_equal(order(bad[i], "5"), RV_UNKNOWN);
        assert_int_equal(order("5", bad[i]), RV_UNKNOWN);
        assert_int_equal(order(bad[i], bad[i]), RV_UNKNOWN);
    }
    assert_int_equal(rv_order(str_of("1\0", 2), str_c("1")), RV_UNKNOWN);
}

/* The order of small numbers is that of the numbers themselves. */
static void test_the_order_agrees_with_arithmetic(void **state)
{
    (void)state;
    for (int a = 1; a < 130; a++)
        for (int b = 1; b < 130; b++) {
            char x[8];
            char y[8];

            (void)snprintf(x, sizeof(x), "%d", a);
            (void)snprintf(y, sizeof(y), "%d", b);
            assert_int_equal(order(x, y), a < b ? RV_OLDER : a > b ? RV_NEWER : RV_SAME);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_longer_number_is_newer),
        cmocka_unit_test(test_equal_length_is_compared_by_digits),
        cmocka_unit_test(test_texts_that_are_no_numbers_have_no_order),
        cmocka_unit_test(test_the_order_agrees_with_arithmetic),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
