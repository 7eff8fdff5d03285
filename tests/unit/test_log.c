/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"

#include "json_ref.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "play_clock.h"

#define PAIR(text, wanted) \
    {                      \
        (text), (wanted)   \
    }

/* stderr goes into a file while a line is caught. */
static char line[4096];

static void catch_begin(int *saved)
{
    FILE *f = tmpfile();

    assert_non_null(f);
    fflush(stderr);
    *saved = dup(STDERR_FILENO);
    assert_true(dup2(fileno(f), STDERR_FILENO) >= 0);
    fclose(f);
}

static const char *catch_end(int saved)
{
    ssize_t n = pread(STDERR_FILENO, line, sizeof(line) - 1, 0);

    assert_true(n >= 0);
    line[n] = '\0';
    dup2(saved, STDERR_FILENO);
    close(saved);
    return line;
}

#define CAUGHT(call)         \
    do {                     \
        int saved;           \
        catch_begin(&saved); \
        call;                \
        catch_end(saved);    \
    } while (0)

static int reset(void **state)
{
    (void)state;
    log_set_level(LOG_LVL_INFO);
    log_set_format(LOG_FMT_AUTO);
    unsetenv("JOURNAL_STREAM"); /* NOLINT(concurrency-mt-unsafe): one thread */
    return 0;
}

static void test_journal(void **state)
{
    static const struct err err = {.kind = ERR_EXPIRED, .text = "watch: too \"old\""};

    (void)state;
    log_set_format(LOG_FMT_JOURNAL);
    CAUGHT(log_warn("watch lost", KV_STR("watch", "pods"), KV_INT("n", -3), KV_U64("u", UINT64_MAX),
                    KV_MS("lived", 1500), KV_ERR(&err)));
    assert_string_equal(line, "<4>watch lost watch=\"pods\" n=-3 u=18446744073709551615 "
                              "lived=1500ms err=\"watch: too \\\"old\\\"\" kind=expired\n");
    CAUGHT(log_error("a", KV_STR("b", NULL)));
    assert_string_equal(line, "<3>a b=\"\"\n");
    CAUGHT(log_info("a", KV_VIEW("b", str_of("cdef", 2))));
    assert_string_equal(line, "<6>a b=\"cd\"\n");
}

/* That a stderr which is the journal gets entries is shown by tests/wire/test_log.py. */
static void test_auto_is_text_where_stderr_is_not_the_journal(void **state)
{
    (void)state;
    setenv("JOURNAL_STREAM", "8:1", 1); /* NOLINT(concurrency-mt-unsafe): one thread */
    CAUGHT(log_info("x", KV_INT("a", 1)));
    assert_ptr_equal(strstr(line, "20"), line);
    assert_string_equal(line + 24, " info  x a=1\n");
    assert_int_equal(line[23], 'Z');
}

static void test_levels(void **state)
{
    (void)state;
    log_set_format(LOG_FMT_JOURNAL);
    CAUGHT(log_debug("x", KV_INT("a", 1)));
    assert_string_equal(line, "");
    log_set_level(LOG_LVL_TRACE);
    CAUGHT(log_trace("x", KV_INT("a", 1)));
    assert_string_equal(line, "<7>x a=1\n");
    log_set_level(LOG_LVL_ERROR);
    CAUGHT(log_warn("x", KV_INT("a", 1)));
    assert_string_equal(line, "");
    assert_string_equal(log_level_words[LOG_LVL_TRACE], "trace");
    assert_null(log_level_words[LOG_LVL_TRACE + 1]);
    assert_string_equal(log_format_words[LOG_FMT_JOURNAL], "journal");
    assert_null(log_format_words[LOG_FMT_JOURNAL + 1]);
}

static void test_values_stay_in_their_line(void **state)
{
    static const char *const cases[][2] = {
        PAIR("a\nb", "a\\nb"),
        PAIR("\r\t\x1b[31m", "\\u000d\\u0009\\u001b[31m"),
        PAIR("a\"b\\", "a\\\"b\\\\"),
        PAIR("caf\xc3\xa9 \xf0\x9f\x98\x80", "caf\xc3\xa9 \xf0\x9f\x98\x80"),
        PAIR("\xff\xc3", "\\u00ff\\u00c3"),
        PAIR("\xc2\x9b", "\\u009b"), /* a C1 control: the start of an escape sequence */
        PAIR("\xe2\x80\x8b", "\\u200b"),
        PAIR("\xe2\x82", "\\u00e2\\u0082"),
        PAIR("\x7f", "\\u007f"),
    };

    (void)state;
    log_set_format(LOG_FMT_JOURNAL);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char want[128];

        CAUGHT(log_info("m", KV_STR("k", cases[i][0])));
        snprintf(want, sizeof(want), "<6>m k=\"%s\"\n", cases[i][1]);
        assert_string_equal(line, want);
    }
    CAUGHT(log_info("m", KV_VIEW("k", str_of("a\0b", 3))));
    assert_string_equal(line, "<6>m k=\"a\\u0000b\"\n");
}

static void test_json(void **state)
{
    static const struct err err = {.kind = ERR_TLS, .text = "x"};
    struct ref_tokens seen = {0};
    struct rng rng;

    (void)state;
    log_set_format(LOG_FMT_JSON);
    CAUGHT(log_info("m", KV_STR("s", "a\"\n"), KV_MS("t", 5), KV_INT("i", -1), KV_ERR(&err)));
    assert_ptr_equal(strstr(line, "{\"time\":\"20"), line);
    assert_non_null(strstr(line,
                           "Z\",\"level\":\"info\",\"msg\":\"m\",\"s\":\"a\\\"\\n\",\"t_ms\":5,"
                           "\"i\":-1,\"err\":\"x\",\"kind\":\"tls\"}\n"));
    rng_seed(&rng, 5);
    for (int round = 0; round < 300; round++) {
        char raw[40];

        for (size_t i = 0; i < sizeof(raw); i++)
            raw[i] = (char)rng_between(&rng, 0, 255);
        CAUGHT(log_info("m", KV_VIEW("s", str_of(raw, sizeof(raw)))));
        ref_clear(&seen);
        assert_int_equal(json_in_scan(str_c(line), ref_add, &seen, NULL), ERR_OK);
        assert_ptr_equal(strchr(line, '\n'), line + strlen(line) - 1);
    }
    buf_free(&seen.texts);
}

static void test_errno_is_kept(void **state)
{
    (void)state;
    errno = ENOENT;
    CAUGHT(errno = ENOENT; log_info("m", KV_INT("a", 1)); assert_int_equal(errno, ENOENT));
}

/* A reader that takes a page while somebody waits for it, in PAGE_MS by the play clock. */
enum { PAGE_MS = 10 };

static struct {
    int from; /* 0 = there is none */
    unsigned waits;
    struct buf all;
} reader;

static void read_page(void)
{
    char page[4096];
    ssize_t n = read(reader.from, page, sizeof(page));

    if (n > 0)
        buf_append(&reader.all, page, (size_t)n);
}

/* The log calls this one in place of the C library's. */
int play_poll(struct pollfd *fds, nfds_t n, int timeout_ms) __asm__("poll");

int play_poll(struct pollfd *fds, nfds_t n, int timeout_ms)
{
    const struct timespec now = {0};

    if (timeout_ms > 0 && reader.from > 0) {
        reader.waits++;
        play_clock_pass(PAGE_MS);
        read_page();
    }
    return ppoll(fds, n, timeout_ms < 0 ? NULL : &now, NULL);
}

/* 256 KiB of lines: waiting for the reader each time would take most of a second. */
static void test_a_slow_reader_costs_lines_not_time(void **state)
{
    int ends[2];

    (void)state;
    assert_int_equal(pipe2(ends, O_NONBLOCK), 0);
    int saved = dup(STDERR_FILENO);
    dup2(ends[1], STDERR_FILENO);
    reader.from = ends[0];
    play_clock_stop();
    for (int i = 0; i < 1024; i++)
        log_info("a line", KV_STR("text", "this is about a quarter of a kilobyte: 0123456789 "
                                          "0123456789 0123456789 0123456789 0123456789 "
                                          "0123456789 0123456789 0123456789 0123456789 "
                                          "0123456789 0123456789 0123456789 0123456789"));
    read_page(); /* there is room again */
    log_info("the last line", KV_INT("n", 1));
    play_clock_go();
    dup2(saved, STDERR_FILENO);
    close(saved);
    close(ends[1]);
    for (size_t before = SIZE_MAX; before != reader.all.len;) {
        before = reader.all.len;
        read_page();
    }
    close(ends[0]);
    reader.from = 0;
    assert_int_equal(reader.waits, 100 / PAGE_MS);
    assert_non_null(strstr(buf_cstr(&reader.all), "log lines were dropped"));
    assert_non_null(strstr(buf_cstr(&reader.all), "the last line"));
    buf_free(&reader.all);
}

static void write_too_many_lines(int to)
{
    dup2(to, STDERR_FILENO);
    log_set_level(LOG_LVL_DEBUG);
    log_set_format(LOG_FMT_JOURNAL);
    play_clock_stop();
    play_clock_pass(30000); /* the lines of other tests do not count any more */
    for (int i = 0; i < 10000; i++)
        log_info("info", KV_INT("i", i));
    log_info("one too many", KV_INT("n", 1));
    log_info("one too many", KV_INT("n", 1));
    log_debug("debug", KV_INT("n", 1));
    log_warn("warn", KV_INT("n", 1));
    play_clock_pass(29999);
    log_info("one too many", KV_INT("n", 1));
    play_clock_pass(1);
    log_info("later", KV_INT("n", 1));
    log_info("the end", KV_INT("n", 1));
    _exit(0);
}

static void test_a_flood_of_one_level_leaves_room_for_the_others(void **state)
{
    struct buf all = {0};
    char piece[4096];
    FILE *f = tmpfile();
    int status;

    (void)state;
    assert_non_null(f);
    pid_t pid = fork();
    if (pid == 0)
        write_too_many_lines(fileno(f));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    rewind(f);
    for (size_t n; (n = fread(piece, 1, sizeof(piece), f)) > 0;)
        buf_append(&all, piece, n);
    fclose(f);
    assert_non_null(strstr(buf_cstr(&all),
                           "<6>info i=9999\n<7>debug n=1\n<4>warn n=1\n"
                           "<4>log lines were left out: there were too many of this level "
                           "lines_of=\"info\" lines=3 limit=10000 in=30000ms\n"
                           "<6>later n=1\n<6>the end n=1\n"));
    assert_null(strstr(buf_cstr(&all), "one too many"));
    buf_free(&all);
}

static void test_a_failure_that_stays_is_for_debugging(void **state)
{
    const struct err refused = {ERR_REFUSED, 1, "nobody listens"};
    const struct err late = {ERR_TIMEOUT, 0, "no answer"};
    struct err logged = {0};

    (void)state;
    assert_int_equal(log_failure_level(&logged, &refused), LOG_LVL_WARN);
    assert_int_equal(log_failure_level(&logged, &refused), LOG_LVL_DEBUG);
    assert_int_equal(log_failure_level(&logged, &late), LOG_LVL_WARN);
    assert_int_equal(log_failure_level(&logged, &refused), LOG_LVL_WARN);
    assert_string_equal(logged.text, "nobody listens");
    logged.kind = ERR_OK;
    assert_int_equal(log_failure_level(&logged, &refused), LOG_LVL_WARN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_journal, reset),
        cmocka_unit_test_setup(test_auto_is_text_where_stderr_is_not_the_journal, reset),
        cmocka_unit_test_setup(test_levels, reset),
        cmocka_unit_test_setup(test_values_stay_in_their_line, reset),
        cmocka_unit_test_setup(test_json, reset),
        cmocka_unit_test_setup(test_errno_is_kept, reset),
        cmocka_unit_test(test_a_failure_that_stays_is_for_debugging),
        cmocka_unit_test_setup(test_a_flood_of_one_level_leaves_room_for_the_others, reset),
        cmocka_unit_test_setup(test_a_slow_reader_costs_lines_not_time, reset),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
