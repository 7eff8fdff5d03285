/* SPDX-License-Identifier: Apache-2.0 */
/* The screen of informerctl top. */
#include "ctl/top_view.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/visible.h"

/* Services had 100 events in 2 s between FIRST and SECOND, secrets none. */
#define STATUS(events, faults)                                                                    \
    "{\"version\":\"1.2.3\",\"pid\":7,\"started\":\"2024-05-01T10:20:30Z\",\"ready\":true,"       \
    "\"degraded\":[" faults "],\"watches\":{"                                                     \
    "\"services\":{\"state\":\"watching\",\"stale\":false,\"held\":false,\"contact_age_s\":0.25," \
    "\"objects\":12,\"bytes\":2048,\"events\":" events "},"                                       \
    "\"secrets\":{\"state\":\"backoff\",\"stale\":true,\"held\":false,\"contact_age_s\":95,"      \
    "\"objects\":3,\"bytes\":4096,\"events\":5}},\"views\":{},\"hooks\":{"                        \
    "\"haproxy\":{\"pending\":2,\"running\":1,\"parked\":0,\"paused\":false,"                     \
    "\"oldest_pending_s\":1.5,\"runs_failed\":4,\"latency_p50_s\":0.012,\"latency_p99_s\":2.34}," \
    "\"dns\":{\"pending\":0,\"running\":0,\"parked\":1,\"paused\":true,"                          \
    "\"oldest_pending_s\":null,\"runs_failed\":0,\"latency_p50_s\":null,\"latency_p99_s\":null}}}"

#define FIRST  STATUS("900", "")
#define SECOND STATUS("1000", "\"watch secrets: stale\"")

enum { STARTED_S = 1714558830 };

struct rig {
    struct top before;
    struct top now;
    struct top_look look;
    struct buf out;
};

static int set_up(void **state)
{
    static struct rig rig;
    struct err err = {0};

    rig = (struct rig){
        .look = {.columns = 80, .now_s = STARTED_S + 7200}
    };
    const struct top none = {0};
    assert_int_equal(top_read(&rig.before, str_c(FIRST), 1000, &none, &err), ERR_OK);
    assert_int_equal(top_read(&rig.now, str_c(SECOND), 3000, &rig.before, &err), ERR_OK);
    *state = &rig;
    return 0;
}

static int tear_down(void **state)
{
    struct rig *r = *state;

    top_fini(&r->before);
    top_fini(&r->now);
    buf_free(&r->out);
    return 0;
}

static const char *screen(struct rig *r)
{
    buf_clear(&r->out);
    top_put(&r->out, &r->now, &r->look);
    return buf_cstr(&r->out);
}

static size_t count_lines(const char *text)
{
    size_t n = 0;

    for (const char *at = text; (at = strchr(at, '\n')) != NULL; at++)
        n++;
    return n;
}

static void test_the_screen_has_all_figures(void **state)
{
    struct rig *r = *state;

    assert_string_equal(
        screen(r),
        "informerd 1.2.3, up 2h, ready, degraded (1): informerctl status; by name\n"
        "\n"
        "WATCH                              STATE EVENTS/S LAST BYTE  OBJECTS      SIZE\n"
        "secrets                            stale      0.0       95s        3    4.0KiB\n"
        "services                        watching     50.0     250ms       12    2.0KiB\n"
        "\n"
        "HOOK                        RUN PENDING  OLDEST  PARKED  FAILED    P50    P99\n"
        "dns                           0       0       -  paused       0      -      -\n"
        "haproxy                       1       2    1.5s       0       4   12ms   2.3s\n");
}

static void test_without_an_earlier_answer_there_is_no_rate(void **state)
{
    struct rig *r = *state;

    buf_clear(&r->out);
    top_put(&r->out, &r->before, &r->look);
    assert_non_null(strstr(buf_cstr(&r->out), " watching        -     250ms"));
    assert_null(strstr(buf_cstr(&r->out), "degraded"));
}

/* informerd was started again: its counts began anew. */
static void test_counts_of_another_process_are_no_rate(void **state)
{
    struct rig *r = *state;
    struct top again;
    struct err err = {0};

    assert_int_equal(top_read(&again, str_c(STATUS("3", "")), 4000, &r->now, &err), ERR_OK);
    top_put(&r->out, &again, &r->look);
    assert_non_null(strstr(buf_cstr(&r->out), " watching        -     250ms"));
    top_fini(&again);
}

static bool comes_before(struct rig *r, const char *a, const char *b)
{
    const char *text = screen(r);
    const char *at = strstr(text, a);

    assert_true(at != NULL && strstr(text, b) != NULL);
    return at < strstr(text, b);
}

static void test_keys_choose_the_order(void **state)
{
    static const struct {
        char key;
        bool services_first;
        bool haproxy_first;
    } rows[] = {
        {'n', false, false},
        {'a', true,  true },
        {'s', false, true },
        {'o', false, true },
        {'f', false, true },
        {'l', false, true },
    };
    struct rig *r = *state;

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_true(top_take_key(&r->look, rows[i].key));
        for (int reversed = 0; reversed < 2; reversed++) {
            bool same = reversed == 0;

            assert_int_equal(comes_before(r, "\nservices", "\nsecrets"),
                             rows[i].services_first == same);
            assert_int_equal(comes_before(r, "\nhaproxy", "\ndns"), rows[i].haproxy_first == same);
            assert_true(top_take_key(&r->look, 'r'));
        }
    }
    assert_false(top_take_key(&r->look, 'x'));
    assert_false(top_take_key(&r->look, '\0'));
}

/* With every size no line is longer than the terminal, and no more lines come than fit. */
static void test_the_screen_fits_each_terminal(void **state)
{
    struct rig *r = *state;

    for (r->look.rows = 6; r->look.rows < 20; r->look.rows++)
        for (r->look.columns = 20; r->look.columns < 140; r->look.columns += 7) {
            const char *text = screen(r);

            assert_true(count_lines(text) <= r->look.rows);
            for (const char *line = text; *line != '\0'; line = strchr(line, '\n') + 1) {
                struct str s = str_of(line, (size_t)(strchr(line, '\n') - line));

                assert_true(visible_width(s) <= r->look.columns);
            }
        }
}

static void test_rows_without_room_are_counted(void **state)
{
    struct rig *r = *state;

    r->look.rows = 8; /* one line for each table */
    assert_non_null(strstr(screen(r), "SIZE\n... and 2 more\n"));
    assert_non_null(strstr(screen(r), "P99\n... and 2 more\n"));
    r->look.rows = 9; /* two for the watches */
    assert_null(strstr(screen(r), "SIZE\n..."));
    r->look.rows = 10;
    assert_null(strstr(screen(r), "more"));
    assert_non_null(strstr(screen(r), "q quit"));
    assert_int_equal(count_lines(screen(r)), 10);
}

static void test_a_long_name_is_cut_and_says_so(void **state)
{
    struct rig *r = *state;

    r->look.columns = 58;
    assert_non_null(strstr(screen(r), "\nservices "));
    buf_puts(&r->now.watches[0].row.name, "-with-a-name");
    assert_non_null(strstr(screen(r), "~ "));
}

static void test_colours_and_trouble(void **state)
{
    struct rig *r = *state;

    assert_null(strchr(screen(r), '\x1b'));
    r->look.colour = true;
    assert_non_null(strstr(screen(r), "\x1b[31msecrets"));
    assert_null(strstr(screen(r), "\x1b[31mservices"));
    r->look.trouble = "informerd is \x1b gone";
    assert_non_null(strstr(screen(r), "informerd is \\u001b gone"));
    assert_null(strstr(screen(r), "ready"));
}

static void test_other_answers(void **state)
{
    struct rig *r = *state;
    struct top t;
    struct err err = {0};

    assert_int_equal(top_read(&t, str_c("no JSON"), 1, &r->before, &err), ERR_PROTOCOL);
    top_fini(&t);
    assert_int_equal(top_read(&t, str_c("{}"), 1, &r->before, &err), ERR_OK);
    buf_clear(&r->out);
    top_put(&r->out, &t, &r->look);
    assert_int_equal(count_lines(buf_cstr(&r->out)), 5);
    top_fini(&t);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_the_screen_has_all_figures),
        TEST(test_without_an_earlier_answer_there_is_no_rate),
        TEST(test_counts_of_another_process_are_no_rate),
        TEST(test_keys_choose_the_order),
        TEST(test_the_screen_fits_each_terminal),
        TEST(test_rows_without_room_are_counted),
        TEST(test_a_long_name_is_cut_and_says_so),
        TEST(test_colours_and_trouble),
        TEST(test_other_answers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
