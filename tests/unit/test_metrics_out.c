/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "admin/metrics_out.h"

static void expect(struct buf *text, const char *wanted)
{
    assert_string_equal(buf_cstr(text), wanted);
    buf_clear(text);
}

static void test_samples(void **state)
{
    struct buf text = {0};
    struct metrics_out m = {.text = &text};

    (void)state;
    metrics_out_family(&m, "a_total", "counter", "What it is.");
    expect(&text, "# HELP a_total What it is.\n# TYPE a_total counter\n");
    metrics_out_u64(&m, str_c(""), UINT64_MAX);
    metrics_out_u64(&m, str_c("x=\"y\""), 0);
    expect(&text, "a_total 18446744073709551615\na_total{x=\"y\"} 0\n");
    metrics_out_by(&m, str_c(""), "reason", "r", 1);
    metrics_out_by(&m, str_c("x=\"y\""), "reason", "r", 2);
    expect(&text, "a_total{reason=\"r\"} 1\na_total{x=\"y\",reason=\"r\"} 2\n");
    buf_free(&text);
}

static void test_seconds(void **state)
{
    static const struct {
        uint64_t ms;
        const char *text;
    } rows[] = {
        {0,             "a 0\n"           },
        {1,             "a 0.001\n"       },
        {10,            "a 0.01\n"        },
        {100,           "a 0.1\n"         },
        {1000,          "a 1\n"           },
        {1001,          "a 1.001\n"       },
        {1050,          "a 1.05\n"        },
        {1999,          "a 1.999\n"       },
        {30000,         "a 30\n"          },
        {12340,         "a 12.34\n"       },
        {1714558830500, "a 1714558830.5\n"},
    };
    struct buf text = {0};
    struct metrics_out m = {.text = &text, .name = "a"};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        metrics_out_seconds(&m, str_c(""), rows[i].ms);
        expect(&text, rows[i].text);
    }
    buf_free(&text);
}

static void test_values_of_labels_are_escaped(void **state)
{
    struct buf labels = {0};

    (void)state;
    metrics_out_label(&labels, "a", str_c("b"));
    metrics_out_label(&labels, "c", str_c("\\ \" \n\xff {},= \xc3\xa9"));
    expect(&labels, "a=\"b\",c=\"\\\\ \\\" \\\\n\\\\u00ff {},= \xc3\xa9\"");
    buf_free(&labels);
}

static void test_a_histogram_is_cumulative(void **state)
{
    struct buf text = {0};
    struct metrics_out m = {.text = &text};
    struct histogram h = {0};

    (void)state;
    histogram_add(&h, 1);
    histogram_add(&h, 3);
    histogram_add(&h, 4000000);
    m.name = "d_seconds";
    metrics_out_histogram(&m, str_c("x=\"y\""), &h, h.sum_ms);
    expect(&text, "d_seconds_bucket{x=\"y\",le=\"0.001\"} 1\n"
                  "d_seconds_bucket{x=\"y\",le=\"0.002\"} 1\n"
                  "d_seconds_bucket{x=\"y\",le=\"0.005\"} 2\n"
                  "d_seconds_bucket{x=\"y\",le=\"0.01\"} 2\n"
                  "d_seconds_bucket{x=\"y\",le=\"0.025\"} 2\n"
                  "d_seconds_bucket{x=\"y\",le=\"0.05\"} 2\n"
                  "d_seconds_bucket{x=\"y\",le=\"0.1\"} 2\n"
                  "d_seconds_bucket{x=\"y\",le=\"0.25\"} 2\n"
                  "d_seconds_bucket{x=\"y\",le=\"0.5\"} 2\n"
                  "d_seconds_bucket{x=\"y\",le=\"1\"} 2\n"
                  "d_seconds_bucket{x=\"y\",le=\"2.5\"} 2\n"
                  "d_seconds_bucket{x=\"y\",le=\"5\"} 2\n"
                  "d_seconds_bucket{x=\"y\",le=\"10\"} 2\n"
                  "d_seconds_bucket{x=\"y\",le=\"30\"} 2\n"
                  "d_seconds_bucket{x=\"y\",le=\"60\"} 2\n"
                  "d_seconds_bucket{x=\"y\",le=\"300\"} 2\n"
                  "d_seconds_bucket{x=\"y\",le=\"1800\"} 2\n"
                  "d_seconds_bucket{x=\"y\",le=\"+Inf\"} 3\n"
                  "d_seconds_sum{x=\"y\"} 4000.004\n"
                  "d_seconds_count{x=\"y\"} 3\n");
    buf_free(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_samples),
        cmocka_unit_test(test_seconds),
        cmocka_unit_test(test_values_of_labels_are_escaped),
        cmocka_unit_test(test_a_histogram_is_cumulative),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
