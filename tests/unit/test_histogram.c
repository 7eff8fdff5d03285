/* SPDX-License-Identifier: Apache-2.0 */
#include "base/histogram.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "hook/latency.h"

static void test_a_bound_belongs_to_its_bucket(void **state)
{
    struct histogram h = {0};

    (void)state;
    for (size_t i = 0; i < HISTOGRAM_BOUNDS; i++) {
        assert_true(i == 0 || histogram_bound_ms(i) > histogram_bound_ms(i - 1));
        histogram_add(&h, histogram_bound_ms(i));
        assert_int_equal(h.count[i], i == 0 ? 1 : 2);
        histogram_add(&h, histogram_bound_ms(i) + 1);
    }
    assert_int_equal(h.count[HISTOGRAM_BOUNDS], 1);
    assert_int_equal(h.total, 2 * HISTOGRAM_BOUNDS);
    assert_int_equal(h.max_ms, histogram_bound_ms(HISTOGRAM_BOUNDS - 1) + 1);
}

/* Between two powers of two, too, where there may be no bound. */
static void test_each_duration_is_in_the_first_bucket_that_holds_it(void **state)
{
    (void)state;
    for (unsigned bit = 0; bit < 64; bit++) {
        for (int off = -1; off <= 1; off++) {
            uint64_t ms = (UINT64_C(1) << bit) + (uint64_t)off;
            struct histogram h = {0};
            size_t bucket = 0;

            while (bucket < HISTOGRAM_BOUNDS && ms > histogram_bound_ms(bucket))
                bucket++;
            histogram_add(&h, ms);
            assert_int_equal(h.count[bucket], 1);
        }
    }
}

static void test_zero_counts(void **state)
{
    struct histogram h = {0};

    (void)state;
    assert_int_equal(histogram_quantile_ms(&h, 500), 0);
    histogram_add(&h, 0);
    assert_int_equal(h.count[0], 1);
    assert_int_equal(histogram_quantile_ms(&h, 990), 0);
}

static void test_quantiles_lie_in_the_right_bucket(void **state)
{
    struct histogram h = {0};

    (void)state;
    for (int i = 0; i < 98; i++)
        histogram_add(&h, 4);
    histogram_add(&h, 700);
    histogram_add(&h, 9000);
    assert_in_range(histogram_quantile_ms(&h, 500), 3, 5);
    assert_in_range(histogram_quantile_ms(&h, 980), 3, 5);
    assert_in_range(histogram_quantile_ms(&h, 990), 501, 1000);
    assert_int_equal(histogram_quantile_ms(&h, 1000), 9000); /* not the bound: nothing was longer */
    assert_int_equal(h.sum_ms, 98 * 4 + 9700);
}

static void test_one_duration_is_all_quantiles(void **state)
{
    struct histogram h = {0};

    (void)state;
    histogram_add(&h, 77);
    assert_int_equal(histogram_quantile_ms(&h, 500), 77);
    assert_int_equal(histogram_quantile_ms(&h, 990), 77);
    h = (struct histogram){0};
    histogram_add(&h, 5000000); /* longer than all bounds */
    assert_int_equal(histogram_quantile_ms(&h, 500), 5000000);
}

static void test_the_last_minutes_forget(void **state)
{
    const uint64_t begin = 10 * LATENCY_WINDOW_MS;
    struct latency l = {0};

    (void)state;
    assert_int_equal(latency_recent(&l, begin).total, 0);
    histogram_add(latency_window(&l, begin), 10);
    histogram_add(latency_window(&l, begin + LATENCY_WINDOW_MS), 20);
    assert_int_equal(latency_recent(&l, begin + LATENCY_WINDOW_MS).total, 2);
    histogram_add(latency_window(&l, begin + 2 * LATENCY_WINDOW_MS), 30);
    assert_int_equal(latency_recent(&l, begin + 2 * LATENCY_WINDOW_MS).sum_ms, 50);
    assert_int_equal(latency_recent(&l, begin + 3 * LATENCY_WINDOW_MS).sum_ms, 30);
    assert_int_equal(latency_recent(&l, begin + 4 * LATENCY_WINDOW_MS).total, 0);
    histogram_add(latency_window(&l, begin + 9 * LATENCY_WINDOW_MS),
                  40); /* both windows were too old */
    assert_int_equal(latency_recent(&l, begin + 9 * LATENCY_WINDOW_MS).sum_ms, 40);
    assert_int_equal(latency_all(&l).total, 4);
    assert_int_equal(latency_all(&l).sum_ms, 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_bound_belongs_to_its_bucket),
        cmocka_unit_test(test_each_duration_is_in_the_first_bucket_that_holds_it),
        cmocka_unit_test(test_zero_counts),
        cmocka_unit_test(test_quantiles_lie_in_the_right_bucket),
        cmocka_unit_test(test_one_duration_is_all_quantiles),
        cmocka_unit_test(test_the_last_minutes_forget),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
