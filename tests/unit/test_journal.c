/* SPDX-License-Identifier: Apache-2.0 */
/* admin/journal: the text of each line, and which lines the ring keeps. */
#include "objects.h"

#include <stdio.h>
#include <string.h>

#include "admin/journal.h"
#include "base/log.h"
#include "hook/history.h"
#include "proto/json_in.h"

static struct journal *journal;
static struct watch *w;
static struct buf out;
static unsigned lines_reported;

static void on_line(void *arg)
{
    assert_ptr_equal(arg, &lines_reported);
    lines_reported++;
}

static int set_up(void **state)
{
    (void)state;
    log_set_level(LOG_LVL_ERROR);
    lines_reported = 0;
    w = objects_watch("w", NULL, NULL);
    journal = journal_create();
    journal_watch_lines(journal, on_line, &lines_reported);
    return 0;
}

static int clean_up(void **state)
{
    (void)state;
    journal_destroy(&journal);
    journal_destroy(&journal);
    watch_destroy(&w);
    buf_free(&out);
    return 0;
}

static bool any_token(void *arg, const struct json_token *t)
{
    (void)arg;
    (void)t;
    return true;
}

static const char *all(void)
{
    buf_clear(&out);
    journal_put_all(&out, journal);
    return buf_cstr(&out);
}

/* One JSON object on each line. */
static size_t check_lines(void)
{
    size_t n = 0;

    all();
    for (size_t at = 0; at < out.len; n++) {
        const char *end = memchr(out.data + at, '\n', out.len - at);
        struct err err = {0};

        assert_non_null(end);
        struct str line = str_of(out.data + at, (size_t)(end - out.data) - at);
        if (json_in_scan(line, any_token, NULL, &err) != ERR_OK)
            fail_msg("%s: %.*s", err.text, STR_ARG(line));
        at += line.n + 1;
    }
    return n;
}

static void test_the_text_of_each_line(void **state)
{
    struct object *o = objects_make("a/x", "u1", "7", "\"password\":\"secret\"");
    const struct delta d = {.type = DELTA_MODIFIED,
                            .cause = CAUSE_RELIST,
                            .object = o,
                            .received_ns = UINT64_C(1714558830000000007)};
    char key[] = "a/x";
    char text[] = "exit 3";
    char nothing[] = "";
    struct history_run run = {.keyed = true,
                              .key = key,
                              .type = DELTA_ADDED,
                              .reason = RUN_RETRY,
                              .attempt = 2,
                              .outcome = HISTORY_FAILED,
                              .text = text,
                              .ended_ns = 2000000000,
                              .took_ms = 15};

    (void)state;
    journal_subscriber.on_delta(journal, (struct source){.watch = w}, &d);
    journal_source(journal, 1000000000, (struct source){.watch = w}, "stale");
    journal_run(journal, "print", str_c("r-1"), &run);
    run.key = nothing;
    run.keyed = false;
    run.outcome = HISTORY_OK;
    journal_run(journal, "print", str_c("r-1"), &run);
    journal_hook(journal, 3000000000, "print", str_c("a/x"), "parked");
    journal_hook(journal, 3000000000, "print", str_c(""), "paused");
    journal_resumed(journal, 3000000000, (struct source){.watch = w}, 10000);
    assert_string_equal(
        all(),
        "{\"time\":\"2024-05-01T10:20:30.000000007Z\",\"seq\":1,\"what\":\"change\",\"type\":"
        "\"MODIFIED\",\"cause\":\"relist\",\"cluster\":\"c\",\"watch\":\"w\",\"key\":\"a/x\","
        "\"resource_version\":\"7\"}\n"
        "{\"time\":\"1970-01-01T00:00:01.000000000Z\",\"seq\":2,\"what\":\"watch\","
        "\"cluster\":\"c\",\"watch\":\"w\",\"state\":\"stale\"}\n"
        "{\"time\":\"1970-01-01T00:00:02.000000000Z\",\"seq\":3,\"what\":\"run\",\"hook\":"
        "\"print\",\"run\":\"r-1\",\"key\":\"a/x\",\"type\":\"ADDED\",\"reason\":\"retry\","
        "\"attempt\":2,\"ok\":false,\"result\":\"exit 3\",\"took_ms\":15}\n"
        "{\"time\":\"1970-01-01T00:00:02.000000000Z\",\"seq\":4,\"what\":\"run\",\"hook\":"
        "\"print\",\"run\":\"r-1\",\"reason\":\"retry\",\"attempt\":2,\"ok\":true,"
        "\"result\":\"exit 3\",\"took_ms\":15}\n"
        "{\"time\":\"1970-01-01T00:00:03.000000000Z\",\"seq\":5,\"what\":\"hook\",\"hook\":"
        "\"print\",\"key\":\"a/x\",\"state\":\"parked\"}\n"
        "{\"time\":\"1970-01-01T00:00:03.000000000Z\",\"seq\":6,\"what\":\"hook\",\"hook\":"
        "\"print\",\"state\":\"paused\"}\n"
        "{\"time\":\"1970-01-01T00:00:03.000000000Z\",\"seq\":7,\"what\":\"watch\","
        "\"cluster\":\"c\",\"watch\":\"w\",\"state\":\"resumed\",\"objects\":10000}\n");
    assert_int_equal(lines_reported, 7);
    object_unref(&o);
}

static void test_an_empty_journal(void **state)
{
    (void)state;
    assert_string_equal(all(), "");
    assert_int_equal(journal_first(journal), 1);
    assert_int_equal(journal_next(journal), 1);
}

static void test_the_last_lines_are_kept(void **state)
{
    char key[32];

    (void)state;
    for (unsigned i = 1; i <= 3 * JOURNAL_LINES + 7; i++) {
        snprintf(key, sizeof(key), "k%u", i);
        journal_hook(journal, 1, "h", str_c(key), "parked");
        assert_int_equal(journal_next(journal), i + 1);
        if (i == JOURNAL_LINES)
            assert_int_equal(journal_first(journal), 1);
    }
    assert_int_equal(check_lines(), JOURNAL_LINES);
    assert_int_equal(journal_first(journal), 2 * JOURNAL_LINES + 8);
    for (uint64_t seq = journal_first(journal); seq < journal_next(journal); seq++) {
        snprintf(key, sizeof(key), "\"key\":\"k%u\",", (unsigned)seq);
        buf_clear(&out);
        journal_put_line(&out, journal, seq);
        assert_non_null(strstr(buf_cstr(&out), key));
        assert_ptr_equal(strchr(buf_cstr(&out), '\n'), out.data + out.len - 1);
    }
}

/* Long lines push out more than one, and lie across the end of the ring. */
static void test_bytes_are_bounded_too(void **state)
{
    struct buf key = {0};

    (void)state;
    for (unsigned i = 0; i < 5000; i++) {
        buf_clear(&key);
        for (unsigned n = 0; n < i * 7919 % 700; n++)
            buf_putc(&key, (char)('a' + i % 26));
        journal_hook(journal, 1, "h", buf_str(&key), "parked");
        if (i % 500 != 0)
            continue;
        size_t n = check_lines();
        assert_true(out.len <= JOURNAL_BYTES);
        assert_int_equal(n, journal_next(journal) - journal_first(journal));
    }
    assert_true(out.len > JOURNAL_BYTES - 2000);
    assert_true(check_lines() < JOURNAL_LINES);
    buf_free(&key);
}

static void test_no_value_breaks_a_line(void **state)
{
    static char bad[] = "a\nb\r\x1b[2J\"\\\x01\xff\xc3(\xe2\x80\xa8";
    const struct history_run run = {
        .key = bad, .text = bad, .file = bad, .end.stage = RUN_STAGE_WRITTEN, .ended_ns = 1};

    (void)state;
    journal_run(journal, bad, str_of(bad, sizeof(bad)), &run); /* with its NUL */
    journal_hook(journal, 1, bad, str_of(bad, sizeof(bad)), bad);
    journal_source(journal, 1, (struct source){.watch = w}, bad);
    assert_int_equal(check_lines(), 3);
    for (size_t i = 0; i < out.len; i++)
        assert_true((unsigned char)out.data[i] >= 0x20 || out.data[i] == '\n');
}

static void test_long_values_are_cut_between_characters(void **state)
{
    static const char euro[] = {'\xe2', '\x82', '\xac'};
    char longest[4000];

    (void)state;
    for (size_t shift = 0; shift < 4; shift++) {
        memset(longest, 'x', shift);
        for (size_t i = shift; i + 3 <= sizeof(longest); i += 3)
            memcpy(longest + i, euro, sizeof(euro));
        journal_hook(journal, 1, "h", str_of(longest, 3000 + shift), "parked");
    }
    assert_int_equal(check_lines(), 4);
    assert_null(strstr(buf_cstr(&out), "\xef\xbf\xbd"));
    assert_in_range(out.len / 4, JOURNAL_VALUE_BYTES, JOURNAL_VALUE_BYTES + 150);

    size_t before = out.len;
    memset(longest, 0x80, sizeof(longest)); /* no character at all, and yet the value stays */
    journal_hook(journal, 1, "h", str_of(longest, sizeof(longest)), "parked");
    assert_int_equal(check_lines(), 5);
    assert_true(out.len - before > JOURNAL_VALUE_BYTES);
}

/* Five values, every byte of which takes six when written: still far below the ring's size. */
static void test_the_longest_line(void **state)
{
    char longest[4000] = "";
    const struct history_run run = {.key = longest,
                                    .text = longest,
                                    .file = longest,
                                    .end.stage = RUN_STAGE_WRITTEN,
                                    .ended_ns = 1};

    (void)state;
    memset(longest, 1, sizeof(longest));
    longest[sizeof(longest) - 1] = '\0';
    for (int i = 0; i < 100; i++)
        journal_run(journal, longest, str_of(longest, sizeof(longest)), &run);
    assert_in_range(check_lines(), 5, 20);
}

#define NOTED(test) cmocka_unit_test_setup_teardown(test, set_up, clean_up)

int main(void)
{
    const struct CMUnitTest tests[] = {
        NOTED(test_the_text_of_each_line),   NOTED(test_an_empty_journal),
        NOTED(test_the_last_lines_are_kept), NOTED(test_bytes_are_bounded_too),
        NOTED(test_no_value_breaks_a_line),  NOTED(test_long_values_are_cut_between_characters),
        NOTED(test_the_longest_line),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
