/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/backoff.h"
#include "base/compiler.h"

/* docs/kubernetes-protocol.md "Backoff", without jitter: the sequence itself. */
static void test_steps(void **state)
{
    static const uint64_t want[] = {800, 1600, 3200, 6400, 12800, 25600, 30000, 30000, 30000};
    const struct backoff_params p = {.initial_ms = 800, .max_ms = 30000, .factor = 2};
    struct backoff b = {0};
    struct rng rng;

    (void)state;
    rng_seed(&rng, 1);
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < ARRAY_LEN(want); i++)
            assert_int_equal(backoff_step(&b, &p, &rng), want[i]);
        backoff_reset(&b);
    }
}

static void test_jitter_is_bounded_and_spread(void **state)
{
    const struct backoff_params p = {.initial_ms = 1000, .max_ms = 1000, .factor = 2, .jitter = 1};
    uint64_t low = UINT64_MAX;
    uint64_t high = 0;
    struct backoff b = {0};
    struct rng rng;

    (void)state;
    rng_seed(&rng, 1);
    for (int i = 0; i < 10000; i++) {
        uint64_t ms = backoff_step(&b, &p, &rng);

        low = ms < low ? ms : low;
        high = ms > high ? ms : high;
    }
    assert_in_range(low, 1000, 1010);
    assert_in_range(high, 1990, 1999);
}

static void test_same_seed_same_delays(void **state)
{
    const struct backoff_params p = {
        .initial_ms = 10, .max_ms = 9999, .factor = 1.5, .jitter = 0.5};
    struct backoff a = {0};
    struct backoff b = {0};
    struct rng rng_a;
    struct rng rng_b;

    (void)state;
    rng_seed(&rng_a, 42);
    rng_seed(&rng_b, 42);
    for (int i = 0; i < 100; i++)
        assert_int_equal(backoff_step(&a, &p, &rng_a), backoff_step(&b, &p, &rng_b));
}

static void test_initial_over_max(void **state)
{
    const struct backoff_params p = {.initial_ms = 500, .max_ms = 100, .factor = 2};
    struct backoff b = {0};
    struct rng rng;

    (void)state;
    rng_seed(&rng, 1);
    assert_int_equal(backoff_step(&b, &p, &rng), 100);
    assert_int_equal(backoff_step(&b, &p, &rng), 100);
}

static void test_numbers_stay_in_range(void **state)
{
    struct rng rng;
    bool seen[7] = {false};

    (void)state;
    rng_seed(&rng, 9);
    for (int i = 0; i < 1000; i++) {
        uint64_t n = rng_between(&rng, 10, 16);
        double f = rng_fraction(&rng);

        assert_in_range(n, 10, 16);
        seen[n - 10] = true;
        assert_true(f >= 0 && f < 1);
    }
    for (size_t i = 0; i < ARRAY_LEN(seen); i++)
        assert_true(seen[i]);
    assert_int_equal(rng_between(&rng, 5, 5), 5);
    (void)rng_between(&rng, 0, UINT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steps),
        cmocka_unit_test(test_jitter_is_bounded_and_spread),
        cmocka_unit_test(test_same_seed_same_delays),
        cmocka_unit_test(test_initial_over_max),
        cmocka_unit_test(test_numbers_stay_in_range),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
