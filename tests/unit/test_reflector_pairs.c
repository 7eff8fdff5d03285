/* SPDX-License-Identifier: Apache-2.0 */
#include "objects.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cache/reflector.h"

enum { INITIAL = 800, RESET_AFTER = 120000 };

static const struct reflector_params defaults = {
    .backoff = {.initial_ms = INITIAL, .max_ms = 30000, .factor = 2, .jitter = 0},
    .reset_after_ms = RESET_AFTER,
    .page_size = 500,
    .watch_min_s = 300,
    .watch_max_s = 600,
};

static struct reflector *r;
static struct reflector_action last;
static uint64_t now;

static int set_up(void **state)
{
    (void)state;
    now = 1000000;
    r = reflector_create(&defaults, 1);
    return 0;
}

static int clean_up(void **state)
{
    (void)state;
    reflector_destroy(&r);
    reflector_destroy(&r);
    assert_null(r);
    return 0;
}

/* ---- Inputs: each puts the answer in last. */

static void start(void)
{
    last = reflector_start(r, now);
}

static void listed(const char *rv, const char *next)
{
    last = reflector_listed(r, str_c(rv), str_c(next), now);
}

static void ended_after(uint64_t ms)
{
    now += ms;
    last = reflector_ended(r, now);
}

static void failed_asking(enum err_kind kind, uint64_t retry_after_ms)
{
    last = reflector_failed(r, &(struct err){.kind = kind}, retry_after_ms, now);
}

static void failed(enum err_kind kind)
{
    failed_asking(kind, 0);
}

static void timer(void)
{
    now += last.wait_ms;
    last = reflector_timer(r, now);
}

/* ---- Checks of the answer. */

static void assert_same_text(const char *got, const char *want)
{
    if (want == NULL)
        assert_null(got);
    else
        assert_string_equal(got != NULL ? got : "(none)", want);
}

static void assert_list(const char *rv, const char *next, unsigned limit)
{
    assert_int_equal(last.what, REFLECTOR_LIST);
    assert_int_equal(reflector_state(r), REFLECTOR_LISTING);
    assert_same_text(last.rv, rv);
    assert_same_text(last.next, next);
    assert_int_equal(last.limit, limit);
}

static void assert_watch(const char *rv)
{
    assert_int_equal(last.what, REFLECTOR_WATCH);
    assert_int_equal(reflector_state(r), REFLECTOR_WATCHING);
    assert_same_text(last.rv, rv);
    assert_same_text(reflector_rv(r), rv);
    assert_in_range(last.timeout_s, 300, 600);
    assert_null(last.next);
    assert_int_equal(last.limit, 0);
}

static void assert_wait(uint64_t ms)
{
    assert_int_equal(last.what, REFLECTOR_WAIT);
    assert_int_equal(reflector_state(r), REFLECTOR_BACKOFF);
    assert_int_equal(last.wait_ms, ms);
}

enum at {
    AT_IDLE,
    AT_LISTING,        /* the first list */
    AT_LISTING_PAGE_2, /* of the first list */
    AT_LISTING_NEWEST, /* the known version was refused */
    AT_RELISTING,      /* from a known version */
    AT_WATCHING,
    AT_BACKOFF_TO_LIST,
    AT_BACKOFF_TO_WATCH,
    AT_COUNT,
};

static void go_to(enum at at)
{
    set_up(NULL);
    if (at == AT_IDLE)
        return;
    start();
    if (at >= AT_WATCHING || at == AT_RELISTING)
        listed("5", "");
    switch (at) {
    case AT_LISTING_PAGE_2:
        listed("5", "next");
        break;
    case AT_LISTING_NEWEST:
        failed(ERR_EXPIRED);
        break;
    case AT_RELISTING:
        failed(ERR_SERVER);
        timer();
        break;
    case AT_BACKOFF_TO_LIST:
        failed(ERR_SERVER);
        break;
    case AT_BACKOFF_TO_WATCH:
        failed(ERR_BUSY);
        break;
    case AT_IDLE:
    case AT_LISTING:
    case AT_WATCHING:
    case AT_COUNT:
        break;
    }
}

/* The answer to a failure: "w" = wait and watch again, "l" = wait and list again from the same
 * version, "n" = wait, then list the newest, "N" = list the newest at once, "A" = list all at once
 * without pages. In order of enum err_kind: ok io refused timeout closed tls, protocol too_big,
 * unauthorized forbidden, not_found expired, future, busy, server config, credential. */
struct failure_row {
    enum at at;
    const char *answers;
    const char *rv; /* of that list */
};

static const struct failure_row failures[] = {
    {AT_LISTING,        "lllllllllllNNllll", "0" },
    {AT_LISTING_PAGE_2, "lllllllllllANllll", "0" },
    {AT_RELISTING,      "lllllllllllNNllll", "5" },
    {AT_LISTING_NEWEST, "nnnnnnnnnnnnnnnnn", NULL},
    {AT_WATCHING,       "lwwwwwllwwllnwllw", "5" },
};

static void check_failure(const struct failure_row *row, enum err_kind kind)
{
    bool known = row->at == AT_RELISTING || row->at == AT_WATCHING;

    go_to(row->at);
    failed(kind);
    switch (row->answers[kind]) {
    case 'N':
        assert_list(NULL, NULL, 500);
        break;
    case 'A':
        assert_list("0", NULL, 0);
        break;
    case 'w':
        assert_wait(INITIAL);
        timer();
        assert_watch("5");
        break;
    case 'n':
        assert_wait(INITIAL);
        timer();
        assert_list(NULL, NULL, 500);
        break;
    default:
        assert_wait(row->at == AT_RELISTING ? 2 * INITIAL : INITIAL);
        timer();
        assert_list(row->rv, NULL, known ? 0 : 500);
        break;
    }
    clean_up(NULL);
}

static void test_every_failure_in_every_state_has_its_answer(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(failures); i++) {
        assert_int_equal(strlen(failures[i].answers), ERR_KINDS);
        for (int kind = 0; kind < ERR_KINDS; kind++)
            check_failure(&failures[i], (enum err_kind)kind);
    }
}

enum input { IN_START, IN_LISTED, IN_PAGE, IN_SEEN, IN_ENDED, IN_FAILED, IN_TIMER, IN_COUNT };

static void give(enum input in)
{
    switch (in) {
    case IN_START:
        start();
        break;
    case IN_LISTED:
        listed("9", "");
        break;
    case IN_PAGE:
        listed("9", "more");
        break;
    case IN_SEEN:
        reflector_seen(r, str_c("9"));
        break;
    case IN_ENDED:
        ended_after(5000);
        break;
    case IN_FAILED:
        failed(ERR_SERVER);
        break;
    case IN_TIMER:
        timer();
        break;
    case IN_COUNT:
        break;
    }
}

/* 'x' = may not happen; else what it does: l(ist), w(atch), b(ackoff), '.' = goes on. In order of
 * enum input. */
static const char *const answers[AT_COUNT] = {
    [AT_IDLE] = "lxxxxxx",
    [AT_LISTING] = "xwlxxbx",
    [AT_LISTING_PAGE_2] = "xwlxxbx",
    [AT_LISTING_NEWEST] = "xwlxxbx",
    [AT_RELISTING] = "xwlxxbx",
    [AT_WATCHING] = "xxx.wbx",
    [AT_BACKOFF_TO_LIST] = "xxxxxxl",
    [AT_BACKOFF_TO_WATCH] = "xxxxxxw",
};

/* Does it end the program with a message? */
static bool aborts(enum at at, enum input in)
{
    int status = 0;
    pid_t pid;

    fflush(NULL);
    pid = fork();
    if (pid == 0) {
        setrlimit(RLIMIT_CORE, &(struct rlimit){0});
        signal(SIGABRT, SIG_DFL);
        if (freopen("/dev/null", "w", stderr) == NULL)
            _exit(1);
        go_to(at);
        give(in);
        _exit(0);
    }
    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

static void check_pair(enum at at, enum input in)
{
    char want = answers[at][in];

    if (want == 'x') {
        assert_true(aborts(at, in));
        return;
    }
    go_to(at);
    give(in);
    switch (reflector_state(r)) {
    case REFLECTOR_IDLE:
        fail();
        break;
    case REFLECTOR_LISTING:
        assert_int_equal(want, 'l');
        break;
    case REFLECTOR_WATCHING:
        assert_true(want == 'w' || want == '.');
        break;
    case REFLECTOR_BACKOFF:
        assert_int_equal(want, 'b');
        break;
    }
    clean_up(NULL);
}

static void test_every_pair_of_state_and_input_is_defined(void **state)
{
    (void)state;
    for (int at = 0; at < AT_COUNT; at++)
        for (int in = 0; in < IN_COUNT; in++)
            check_pair((enum at)at, (enum input)in);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_failure_in_every_state_has_its_answer),
        cmocka_unit_test(test_every_pair_of_state_and_input_is_defined),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
