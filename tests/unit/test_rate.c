/* SPDX-License-Identifier: Apache-2.0 */
#include "base/rate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct rate minute(void)
{
    struct rate r = {.window_ms = 60000, .bytes = 65536, .pause_ms = 10000};

    rate_begin(&r, 1000000);
    return r;
}

/* For how long (ms) pieces of n bytes may come, one each every_ms, in a day. */
static uint64_t lasts(size_t n, uint64_t every_ms)
{
    struct rate r = minute();
    uint64_t ms = 0;

    while (ms < 86400000) {
        ms += every_ms;
        if (!rate_add(&r, n, 1000000 + ms))
            return ms;
    }
    return UINT64_MAX;
}

static void test_a_trickle_lasts_for_one_window(void **state)
{
    (void)state;
    assert_int_equal(lasts(1, 1000), 60000);
    assert_int_equal(lasts(1000, 1000), 60000);
    assert_int_equal(lasts(1, 10), 60000);
}

static void test_a_slow_link_lasts(void **state)
{
    (void)state;
    assert_int_equal(lasts(10000, 1000), UINT64_MAX);
    assert_int_equal(lasts(1093, 1000), UINT64_MAX);
    assert_int_equal(lasts(300000, 30000), UINT64_MAX);
}

static void test_a_long_silence_counts_as_a_short_one(void **state)
{
    struct rate r = minute();

    (void)state;
    assert_true(rate_add(&r, 1, 1001000));
    assert_true(rate_add(&r, 1, 4001000));
    assert_true(rate_add(&r, 70000, 4050999));
    assert_int_equal(lasts(1, 59000), 6 * 59000);
}

static void test_each_window_counts_for_itself(void **state)
{
    struct rate r = minute();

    (void)state;
    assert_true(rate_add(&r, 1 << 20, 1000001));
    for (uint64_t s = 1; s <= 60; s++)
        assert_true(rate_add(&r, 1, 1000001 + s * 1000)); /* the first minute had its share */
    for (uint64_t s = 61; s <= 119; s++)
        assert_true(rate_add(&r, 1, 1000001 + s * 1000));
    assert_false(rate_add(&r, 1, 1000001 + 120000));
}

static void test_a_rate_begins_anew(void **state)
{
    struct rate r = minute();

    (void)state;
    for (uint64_t s = 1; s < 60; s++)
        assert_true(rate_add(&r, 1, 1000000 + s * 1000));
    rate_begin(&r, 1060000);
    assert_true(rate_add(&r, 1, 1060000));
    assert_true(rate_add(&r, 1, 1069999));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_trickle_lasts_for_one_window),
        cmocka_unit_test(test_a_slow_link_lasts),
        cmocka_unit_test(test_a_long_silence_counts_as_a_short_one),
        cmocka_unit_test(test_each_window_counts_for_itself),
        cmocka_unit_test(test_a_rate_begins_anew),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
