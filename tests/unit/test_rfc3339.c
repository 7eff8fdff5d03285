/* SPDX-License-Identifier: Apache-2.0 */
/* Times of RFC 3339: which are read, and to the millisecond. */
#include "base/rfc3339.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/mem.h"

#define S ((int64_t)1000)

/* 2026-01-31T12:00:00Z */
#define NOON (1769860800 * S)

static void expect(const char *text, int64_t ms)
{
    int64_t found = -12345;

    assert_true(rfc3339_read(str_c(text), &found));
    assert_int_equal(found, ms);
}

static void refuse(struct str text)
{
    char *exact = mem_dup(text.p, text.n); /* a sanitizer sees a read behind this copy */
    int64_t found = -12345;

    assert_false(rfc3339_read(str_of(exact, text.n), &found));
    assert_int_equal(found, -12345);
    free(exact);
}

static void test_times_in_utc(void **state)
{
    (void)state;
    expect("1970-01-01T00:00:00Z", 0);
    expect("2026-01-31T12:00:00Z", NOON);
    expect("2026-01-31t12:00:00z", NOON);
    expect("1969-12-31T23:59:59Z", -1 * S);
    expect("2038-01-19T03:14:08Z", 2147483648 * S);
    expect("9999-12-31T23:59:59Z", 253402300799 * S);
    expect("0000-01-01T00:00:00Z", -62167219200 * S);
}

static void test_an_offset_is_taken_off(void **state)
{
    (void)state;
    expect("2026-01-31T12:00:00+00:00", NOON);
    expect("2026-01-31T12:00:00-00:00", NOON);
    expect("2026-01-31T13:00:00+01:00", NOON);
    expect("2026-01-31T17:45:00+05:45", NOON);
    expect("2026-01-30T22:30:00-13:30", NOON);
    expect("2026-02-01T11:59:00+23:59", NOON);
}

static void test_a_fraction_counts_to_the_millisecond(void **state)
{
    (void)state;
    expect("2026-01-31T12:00:00.0Z", NOON);
    expect("2026-01-31T12:00:00.5Z", NOON + 500);
    expect("2026-01-31T12:00:00.05Z", NOON + 50);
    expect("2026-01-31T12:00:00.123Z", NOON + 123);
    expect("2026-01-31T12:00:00.123999999999999999999Z", NOON + 123);
    expect("2026-01-31T12:00:00.000999Z", NOON);
    expect("2026-01-31T13:00:00.25+01:00", NOON + 250);
}

/* Such a text has kept the reader in a loop for ever: the trigger time of an EndpointSlice may be any text. */
static void test_a_mistake_before_a_fraction_is_refused(void **state)
{
    (void)state;
    refuse(str_c("2026-01-31T0.0"));
    refuse(str_c("2026.5"));
    refuse(str_c(".0Z"));
}

static void test_leap_days_and_leap_seconds(void **state)
{
    (void)state;
    expect("2028-02-29T00:00:00Z", 1835395200 * S);
    expect("2000-02-29T00:00:00Z", 951782400 * S);
    expect("2016-12-31T23:59:60Z", 1483228800 * S);
    refuse(str_c("2026-02-29T00:00:00Z"));
    refuse(str_c("2100-02-29T00:00:00Z"));
    refuse(str_c("2026-04-31T00:00:00Z"));
}

static void test_values_out_of_range_are_refused(void **state)
{
    static const char *const texts[] = {
        "2026-00-01T00:00:00Z", "2026-13-01T00:00:00Z",      "2026-01-00T00:00:00Z",
        "2026-01-32T00:00:00Z", "2026-01-01T24:00:00Z",      "2026-01-01T00:60:00Z",
        "2026-01-01T00:00:61Z", "2026-01-01T00:00:00+24:00", "2026-01-01T00:00:00+00:60",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        refuse(str_c(texts[i]));
}

static void test_other_texts_are_refused(void **state)
{
    static const char *const texts[] = {
        "",
        "now",
        "1769860800",
        "2026-01-31",
        "2026-01-31 12:00:00Z",
        "2026-01-31T12:00Z",
        "2026-01-31T12:00:00",
        "2026-01-31T12:00:00.Z",
        "2026-01-31T12:00:00,5Z",
        "2026-01-31T12:00:00 Z",
        "2026-01-31T12:00:00ZZ",
        "2026-01-31T12:00:00+0100",
        "2026-01-31T12:00:00+1:00",
        "2026-1-31T12:00:00Z",
        "+026-01-31T12:00:00Z",
        "2026-01-31T12:00:00Z\n",
        " 2026-01-31T12:00:00Z",
        "12026-01-31T12:00:00Z",
        "Sat, 31 Jan 2026 12:00:00 GMT",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        refuse(str_c(texts[i]));
    refuse(str_of("2026-01-31T12:00:00Z\0", 21));
    refuse(str_of("2026-01-31T12:00:00\0", 20));
}

static void test_every_beginning_of_a_time_is_refused(void **state)
{
    static const char whole[] = "2026-01-31T12:00:00.25+01:00";

    (void)state;
    for (size_t n = 0; n < sizeof(whole) - 1; n++)
        refuse(str_of(whole, n));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_times_in_utc),
        cmocka_unit_test(test_an_offset_is_taken_off),
        cmocka_unit_test(test_a_fraction_counts_to_the_millisecond),
        cmocka_unit_test(test_a_mistake_before_a_fraction_is_refused),
        cmocka_unit_test(test_leap_days_and_leap_seconds),
        cmocka_unit_test(test_values_out_of_range_are_refused),
        cmocka_unit_test(test_other_texts_are_refused),
        cmocka_unit_test(test_every_beginning_of_a_time_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
