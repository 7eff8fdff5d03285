/* SPDX-License-Identifier: Apache-2.0 */
/* The output of the programs of a run: in the log, as the content of a file, and when it ends. */
#include "loop_until.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "io/run_output.h"
#include "play_clock.h"
#include "play_memory.h"

enum { AT_ONCE = 1024 * 1024 }; /* bytes that are read in one turn */

struct scene {
    struct loop *loop;
    struct run_output *output;
    int fds[WIRE_RUN_FDS];
    int full, captured, ended; /* events so far */
    bool dispose;              /* in the next event */
    struct buf log;            /* the lines since logged() */
};

/* libuv calls this one in place of the C library's. */
int add_to_epoll(int epoll, int op, int fd, struct epoll_event *event) __asm__("epoll_ctl");

static bool epoll_is_full; /* as with fs.epoll.max_user_watches */

int add_to_epoll(int epoll, int op, int fd, struct epoll_event *event)
{
    if (epoll_is_full && op == EPOLL_CTL_ADD) {
        errno = ENOSPC;
        return -1;
    }
    return (int)syscall(SYS_epoll_ctl, epoll, op, fd, event);
}

static void after_event(struct scene *s)
{
    if (s->dispose)
        run_output_dispose(&s->output);
}

static void on_full(void *arg)
{
    struct scene *s = arg;

    s->full++;
}

static void on_captured(void *arg)
{
    struct scene *s = arg;

    s->captured++;
    after_event(s);
}

static void on_end(void *arg)
{
    struct scene *s = arg;

    s->ended++;
    after_event(s);
}

static void on_line(void *arg, const char *stream, struct str line)
{
    struct scene *s = arg;

    buf_printf(&s->log, "%s: %.*s\n", stream, STR_ARG(line));
}

static void on_dropped(void *arg, const char *stream, uint64_t bytes)
{
    struct scene *s = arg;

    buf_printf(&s->log, "%s: %u dropped\n", stream, (unsigned)bytes);
}

static void on_unwatched(void *arg, const char *why)
{
    struct scene *s = arg;

    buf_printf(&s->log, "unwatched: %s\n", why);
}

static int set_up(void **state)
{
    static struct scene scene;

    scene = (struct scene){
        .loop = loop_create(), .fds = {-1, -1, -1}
    };
    *state = &scene;
    return 0;
}

static int clean_up(void **state)
{
    struct scene *s = *state;

    run_output_dispose(&s->output);
    for (size_t i = 0; i < WIRE_RUN_FDS; i++)
        if (s->fds[i] >= 0)
            close(s->fds[i]);
    loop_destroy(&s->loop); /* panics if a handle is left */
    buf_free(&s->log);
    return 0;
}

static void begin(struct scene *s, uint64_t log_limit, size_t capture_max)
{
    const struct run_output_params params = {.loop = s->loop,
                                             .log_limit = log_limit,
                                             .capture_max = capture_max,
                                             .on_line = on_line,
                                             .on_dropped = on_dropped,
                                             .on_unwatched = on_unwatched,
                                             .on_full = on_full,
                                             .on_captured = on_captured,
                                             .on_end = on_end,
                                             .arg = s};

    assert_int_equal(run_output_create(&params, s->fds, &s->output, NULL), ERR_OK);
}

static void print(const struct scene *s, int fd, const char *text)
{
    assert_int_equal(write(s->fds[fd], text, strlen(text)), strlen(text));
}

static void close_one(struct scene *s, int fd)
{
    close(s->fds[fd]);
    s->fds[fd] = -1;
}

/* The lines since the last call. */
static void logged(struct scene *s, const char *text)
{
    assert_string_equal(buf_cstr(&s->log), text);
    buf_clear(&s->log);
}

#define LINE(stream, text)     stream ": " text "\n"
#define UNWATCHED(why)         "unwatched: " why "\n"
#define DROPPED(stream, bytes) stream ": " bytes " dropped\n"

static void test_lines_are_logged_as_they_come(void **state)
{
    struct scene *s = *state;

    begin(s, 1000, 0);
    print(s, 1, "one\ntw");
    print(s, 2, "error\n");
    loop_turns(s->loop, 2);
    logged(s, ""); /* not watched yet */
    run_output_watch(s->output);
    loop_turns(s->loop, 2);
    logged(s, LINE("stdout", "one") LINE("stderr", "error"));
    print(s, 1, "o\n");
    loop_turns(s->loop, 2);
    logged(s, LINE("stdout", "two"));
    close_one(s, 1);
    loop_turns(s->loop, 2);
    assert_true(s->ended == 1 && !run_output_is_over(s->output));
    print(s, 2, "last");
    s->dispose = true;
    close_one(s, 2);
    loop_turns(s->loop, 2);
    assert_true(s->ended == 2 && s->output == NULL);
    logged(s, LINE("stderr", "last"));
}

/* Most runs end before anybody watches them. */
static void test_the_end_of_the_output_is_in_the_result(void **state)
{
    struct scene *s = *state;
    struct run_result result = {0};

    begin(s, 4, 0);
    print(s, 1, "abcdef\n");
    print(s, 2, "no");
    close_one(s, 1);
    run_output_finish(s->output, &result);
    assert_true(str_is(result.out, "abcdef\n") && str_is(result.err, "no"));
    assert_int_equal(result.dropped, 3);
    assert_false(run_output_is_over(s->output)); /* a process that was left still has stderr */
    logged(s, LINE("stdout", "abcd") DROPPED("stdout", "3"));
    run_output_watch(s->output);
    print(s, 2, " way");
    loop_turns(s->loop, 2);
    run_output_give_up(s->output);
    assert_true(run_output_is_over(s->output));
    assert_int_equal(s->ended, 0);
    logged(s, LINE("stderr", "no w") DROPPED("stderr", "2"));
}

static void test_the_captured_bytes_go_to_the_next_program(void **state)
{
    struct scene *s = *state;
    struct run_result result = {0};
    struct digest digest;
    char bytes[16] = "";
    int next[WIRE_RUN_FDS] = {-1, -1, -1};

    begin(s, 1000, 5);
    print(s, 1, "con");
    assert_false(run_output_drain(s->output));
    run_output_watch(s->output);
    print(s, 1, "f\n");
    close_one(s, 1);
    close_one(s, 2); /* not the end of stderr: the next program has it, too */
    loop_turns(s->loop, 2);
    assert_true(s->captured == 1 && s->full == 0 && s->ended == 0);
    assert_true(run_output_drain(s->output));
    assert_int_equal(run_output_hand_on(s->output, &digest, next, NULL), ERR_OK);
    assert_true(digest_eq(digest, digest_of("conf\n", 5)));
    memcpy(s->fds, next, sizeof(next));
    assert_int_equal(read(next[0], bytes, sizeof(bytes)), 5);
    assert_string_equal(bytes, "conf\n");
    print(s, 1, "checked\n");
    print(s, 2, "warned\n");
    close_one(s, 1);
    close_one(s, 2);
    run_output_finish(s->output, &result);
    assert_true(run_output_is_over(s->output));
    assert_true(str_is(result.out, "checked\n") && str_is(result.err, "warned\n"));
    logged(s, LINE("stdout", "checked") LINE("stderr", "warned"));
}

static void test_the_captured_bytes_may_be_taken(void **state)
{
    struct scene *s = *state;
    struct run_result result = {0};
    struct buf taken = {0};

    begin(s, 1000, 5);
    print(s, 1, "conf\n");
    assert_false(run_output_drain(s->output));
    run_output_take(s->output, &taken);
    assert_string_equal(buf_cstr(&taken), "conf\n");
    buf_free(&taken);
    run_output_finish(s->output, &result);
    logged(s, "");
}

static void test_too_much_for_a_file(void **state)
{
    struct scene *s = *state;
    struct run_result result = {0};

    begin(s, 1000, 5);
    print(s, 1, "12345");
    assert_false(run_output_drain(s->output));
    assert_false(run_output_is_full(s->output));
    print(s, 1, "6");
    assert_false(run_output_drain(s->output));
    print(s, 1, "7");
    assert_false(run_output_drain(s->output));
    assert_true(run_output_is_full(s->output) && s->full == 1);
    assert_int_equal(run_output_cut(s->output), RUN_CUT_FULL);
    close_one(s, 1);
    close_one(s, 2);
    assert_true(run_output_drain(s->output));
    run_output_finish(s->output, &result);
    assert_true(run_output_is_over(s->output)); /* the copy of stderr is closed */
    assert_int_equal(s->captured, 0);
}

static void test_no_memory_for_a_file(void **state)
{
    enum { BYTES = 60000 };
    struct scene *s = *state;
    struct run_result result = {0};
    char *text = mem_zalloc(BYTES);

    begin(s, 1000, BYTES);
    assert_int_equal(write(s->fds[1], text, BYTES), BYTES);
    play_memory_fail(1, BYTES);
    assert_false(run_output_drain(s->output));
    play_memory_fail(0, 0);
    free(text);
    assert_true(run_output_is_full(s->output) && s->full == 1);
    assert_int_equal(run_output_cut(s->output), RUN_CUT_MEMORY);
    close_one(s, 1);
    close_one(s, 2);
    assert_true(run_output_drain(s->output));
    run_output_finish(s->output, &result);
    assert_int_equal(s->captured, 0);
}

/* The captured stdout ends while the loop reads it, and its owner gives everything up. */
static void test_disposed_when_the_capture_ends(void **state)
{
    struct scene *s = *state;

    begin(s, 1000, 5);
    run_output_watch(s->output);
    s->dispose = true;
    close_one(s, 1);
    loop_turns(s->loop, 2);
    assert_true(s->captured == 1 && s->output == NULL);
}

static void test_a_flood_is_read_in_parts(void **state)
{
    struct scene *s = *state;
    char *zeros = mem_zalloc(AT_ONCE);

    begin(s, 0, (size_t)2 * AT_ONCE);
    assert_true(fcntl(s->fds[1], F_SETPIPE_SZ, AT_ONCE) >= AT_ONCE);
    assert_int_equal(write(s->fds[1], zeros, AT_ONCE), AT_ONCE);
    free(zeros);
    close_one(s, 1);
    assert_false(run_output_drain(s->output));
    assert_true(run_output_drain(s->output));
}

static bool is_third(void *looks)
{
    return ++*(unsigned *)looks == 3;
}

/* Writes as much as the pipe takes, and lets the loop read, until nothing more happens without time. */
static size_t pour(struct scene *s, int fd)
{
    static char zeros[65536];
    size_t sum = 0;
    ssize_t n;

    do {
        for (n = 0; write(s->fds[fd], zeros, sizeof(zeros)) == (ssize_t)sizeof(zeros);)
            n += (ssize_t)sizeof(zeros);
        sum += (size_t)n;
        loop_until(s->loop, is_third, &(unsigned){0});
    } while (n > 0);
    return sum;
}

/* The bytes that main reads in a second cannot be more, however fast the program prints. */
static void test_a_program_that_prints_without_an_end_is_read_slowly(void **state)
{
    struct scene *s = *state;

    begin(s, 10, 0);
    run_output_watch(s->output);
    play_clock_stop();
    for (int fd = 1; fd <= 2; fd++) {
        fcntl(s->fds[fd], F_SETFL, O_NONBLOCK);
        assert_in_range(pour(s, fd), AT_ONCE, 3 * AT_ONCE); /* ordinary output does not wait */
        assert_int_equal(pour(s, fd), 0);
    }
    size_t sum = 0;
    for (int i = 0; i < 100; i++) {
        play_clock_pass(10);
        loop_until(s->loop, is_third, &(unsigned){0});
        sum += pour(s, 1) + pour(s, 2);
    }
    assert_in_range(sum, 2 * 99 * 65536, 2 * 101 * 65536);
    close_one(s, 1);
    close_one(s, 2);
    for (int i = 0; i < 3; i++) {
        play_clock_pass(10);
        loop_until(s->loop, is_third, &(unsigned){0});
    }
    play_clock_go();
    assert_true(s->ended == 2 && run_output_is_over(s->output));
}

/* A stream that waits is closed with its run, and nothing comes after that. */
static void test_a_paused_stream_can_be_given_up(void **state)
{
    struct scene *s = *state;
    struct run_result result = {0};

    begin(s, 10, 0);
    run_output_watch(s->output);
    play_clock_stop();
    fcntl(s->fds[1], F_SETFL, O_NONBLOCK);
    pour(s, 1);
    print(s, 2, "why\n");
    run_output_finish(s->output, &result);
    assert_true(str_is(result.err, "why\n"));
    run_output_give_up(s->output);
    play_clock_pass(10);
    loop_until(s->loop, is_third, &(unsigned){0});
    play_clock_go();
    assert_int_equal(s->ended, 0);
}

/* main lives on, and the run has its output. */
static void test_output_that_cannot_be_watched_is_read_at_the_end(void **state)
{
    struct scene *s = *state;
    struct run_result result = {0};

    begin(s, 1000, 0);
    epoll_is_full = true;
    run_output_watch(s->output);
    run_output_watch(s->output);
    epoll_is_full = false;
    logged(s, UNWATCHED("no space left on device")); /* once */
    print(s, 1, "one\n");
    print(s, 2, "error\n");
    loop_turns(s->loop, 2);
    logged(s, "");
    close_one(s, 1);
    run_output_finish(s->output, &result);
    logged(s, LINE("stdout", "one") LINE("stderr", "error"));
    assert_true(str_is(result.out, "one\n") && str_is(result.err, "error\n"));
    assert_false(run_output_is_over(s->output));
    run_output_watch(s->output); /* the shortage is over */
    close_one(s, 2);
    loop_turns(s->loop, 2);
    assert_true(s->ended == 1 && run_output_is_over(s->output));
}

static void test_a_capture_that_cannot_be_watched_is_drained(void **state)
{
    struct scene *s = *state;

    begin(s, 1000, 5);
    epoll_is_full = true;
    run_output_watch(s->output);
    epoll_is_full = false;
    print(s, 1, "conf\n");
    close_one(s, 1);
    assert_true(run_output_drain(s->output));
    run_output_dispose(&s->output);
    logged(s, UNWATCHED("no space left on device"));
}

static void test_no_descriptors(void **state)
{
    const struct run_output_params params = {.capture_max = 1};
    struct scene *s = *state;
    struct rlimit old;
    struct err err;

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    int next = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
    close(next);
    for (int more = 0; more < 5; more++) { /* two pipes, and a copy of stderr */
        struct rlimit few = {(rlim_t)(next + more), old.rlim_max};

        assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
        enum err_kind kind = run_output_create(&params, s->fds, &s->output, &err);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
        assert_int_equal(kind, ERR_IO);
        assert_null(s->output);
        for (int fd = 1; fd < WIRE_RUN_FDS; fd++)
            if (s->fds[fd] >= 0)
                close_one(s, fd);
        int again = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
        close(again);
        assert_int_equal(again, next); /* nothing is left open */
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, clean_up)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_lines_are_logged_as_they_come),
        TEST(test_the_end_of_the_output_is_in_the_result),
        TEST(test_the_captured_bytes_go_to_the_next_program),
        TEST(test_the_captured_bytes_may_be_taken),
        TEST(test_too_much_for_a_file),
        TEST(test_no_memory_for_a_file),
        TEST(test_disposed_when_the_capture_ends),
        TEST(test_a_flood_is_read_in_parts),
        TEST(test_a_program_that_prints_without_an_end_is_read_slowly),
        TEST(test_a_paused_stream_can_be_given_up),
        TEST(test_output_that_cannot_be_watched_is_read_at_the_end),
        TEST(test_a_capture_that_cannot_be_watched_is_drained),
        TEST(test_no_descriptors),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
