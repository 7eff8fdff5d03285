/* SPDX-License-Identifier: Apache-2.0 */
/* The changes that count for -w; tests/wire/test_ctl_repeat.py has the command. */
#include "ctl/repeat.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static bool is_same(const char *a, const char *b)
{
    struct buf x = {0};
    struct buf y = {0};

    repeat_put_still(&x, str_c(a));
    repeat_put_still(&y, str_c(b));
    bool same = str_eq(buf_str(&x), buf_str(&y));
    buf_free(&x);
    buf_free(&y);
    return same;
}

static void test_ages_are_no_change(void **state)
{
    (void)state;
    assert_true(
        is_same("{\"w\":{\"contact_age_s\":1,\"n\":2}}", "{\"w\":{\"contact_age_s\":9,\"n\":2}}"));
    assert_false(
        is_same("{\"w\":{\"contact_age_s\":1,\"n\":2}}", "{\"w\":{\"contact_age_s\":1,\"n\":3}}"));
}

static void test_names_places_and_types_are_changes(void **state)
{
    (void)state;
    assert_false(is_same("{\"a\":1}", "{\"b\":1}"));
    assert_false(is_same("[1,2]", "[2,1]"));
    assert_false(is_same("{\"a\":true}", "{\"a\":false}"));
    assert_false(is_same("{\"a\":\"1\"}", "{\"a\":1}"));
    assert_false(is_same("{\"s\":1}", "{\"s\":2}"));
    assert_true(is_same("{\"_s\":1}", "{\"_s\":2}"));
    assert_false(is_same("no JSON", "none"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ages_are_no_change),
        cmocka_unit_test(test_names_places_and_types_are_changes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
