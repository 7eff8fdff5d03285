/* SPDX-License-Identifier: Apache-2.0 */
/* Durations: one parser for the configuration and for options. */
#include "base/amount.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

static void test_durations(void **state)
{
    static const struct {
        const char *text;
        uint64_t ms;
    } good[] = {
        {"0s",               0                  },
        {"1ms",              1                  },
        {"250ms",            250                },
        {"5s",               5000               },
        {"2min",             120000             },
        {"1h",               3600000            },
        {"1d",               86400000           },
        {"366d",             31622400000        },
        {"007d",             604800000          },
        {"999999999h",       3599999996400000   },
        {"106751991167d",    9223372036828800000},
        {"999999999999999s", 999999999999999000 },
    };
    static const char *const bad[] = {"",
                                      "s",
                                      "5",
                                      "5 s",
                                      "-5s",
                                      "1.5s",
                                      "5S",
                                      "5m",
                                      "5sx",
                                      "+5s",
                                      "0x5s",
                                      " 5s",
                                      "106751991168d",
                                      "1234567890123456s",
                                      "5s ",
                                      "1w",
                                      "1h5s",
                                      "1D",
                                      "5\n",
                                      "999999999999999d"};
    uint64_t ms;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        assert_true(amount_parse_duration(good[i].text, &ms));
        assert_int_equal(ms, good[i].ms);
    }
    ms = 77;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_false(amount_parse_duration(bad[i], &ms));
    assert_int_equal(ms, 77);
}

static void test_durations_are_written_as_they_are_read(void **state)
{
    static const char *const texts[] = {"0s", "1ms", "1500ms", "90s", "2min", "25h", "7d"};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct buf out = {0};
        uint64_t ms;

        assert_true(amount_parse_duration(texts[i], &ms));
        amount_put_duration(&out, ms);
        assert_string_equal(buf_cstr(&out), texts[i]);
        buf_free(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_durations),
        cmocka_unit_test(test_durations_are_written_as_they_are_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
