/* SPDX-License-Identifier: Apache-2.0 */
/* cache/reflector: every failure in every state, and every pair of state and input. */
#include "reflector_rig.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define INITIAL REFLECTOR_RIG_INITIAL

enum at {
    AT_IDLE,
    AT_LISTING,        /* the first list */
    AT_LISTING_PAGE_2, /* of the first list */
    AT_LISTING_NEWEST, /* the known version was refused */
    AT_RELISTING,      /* from a known version */
    AT_WATCHING,
    AT_BACKOFF_TO_LIST,
    AT_BACKOFF_TO_WATCH,
    AT_PROBING,
    AT_HELD,
    AT_FULL,
    AT_COMPARING,   /* the list had no version */
    AT_STREAMING,   /* the first list */
    AT_RESTREAMING, /* from a known version */
    AT_STREAMING_NEWEST,
    AT_COUNT,
};

static void go_to_streaming(enum at at)
{
    struct reflector_params p = reflector_rig_defaults;

    p.watch_list = WATCH_LIST_ON;
    reflector_rig_use(&p);
    reflector_rig_start();
    if (at == AT_STREAMING)
        return;
    reflector_streamed(reflector_rig.r, str_c("5"), reflector_rig.now);
    reflector_rig_failed(ERR_SERVER);
    reflector_rig_timer();
    if (at == AT_STREAMING_NEWEST)
        reflector_rig_failed(ERR_EXPIRED);
}

static void go_to_watching(enum at at)
{
    reflector_rig_sync_at(at == AT_COMPARING ? "" : "5");
    switch (at) {
    case AT_RELISTING:
        reflector_rig_failed(ERR_SERVER);
        reflector_rig_timer();
        break;
    case AT_BACKOFF_TO_LIST:
        reflector_rig_failed(ERR_SERVER);
        break;
    case AT_BACKOFF_TO_WATCH:
        reflector_rig_failed(ERR_BUSY);
        break;
    case AT_PROBING:
        reflector_rig_ended_after(300000);
        reflector_rig_ended_after(300000);
        break;
    case AT_HELD:
        reflector_rig_relist(RELIST_MANUAL);
        reflector_rig_held(60000);
        break;
    case AT_FULL:
        reflector_rig.last = reflector_full(reflector_rig.r);
        break;
    case AT_IDLE:
    case AT_LISTING:
    case AT_LISTING_PAGE_2:
    case AT_LISTING_NEWEST:
    case AT_WATCHING:
    case AT_COMPARING:
    case AT_STREAMING:
    case AT_RESTREAMING:
    case AT_STREAMING_NEWEST:
    case AT_COUNT:
        break;
    }
}

static void go_to(enum at at)
{
    if (at >= AT_STREAMING) {
        go_to_streaming(at);
        return;
    }
    reflector_rig_set_up(NULL);
    if (at >= AT_RELISTING) {
        go_to_watching(at);
        return;
    }
    if (at != AT_IDLE)
        reflector_rig_start();
    if (at == AT_LISTING_PAGE_2)
        reflector_rig_listed("5", "next");
    if (at == AT_LISTING_NEWEST)
        reflector_rig_failed(ERR_EXPIRED);
}

/* The answer to a failure: "w" = wait and watch again, "p" = wait and probe again, "l" = wait and
 * list again from the same version, "n" = wait, then list the newest, "N" = list the newest at
 * once, "A" = list all at once without pages, "L" = list at once from the same version; of
 * streaming lists "s" = wait and stream again from the same version, "S" = stream the newest at
 * once, "t" = wait and do that; "v" = wait for long */
struct failure_row {
    enum at at;
    const char *answers;
    const char *rv; /* the version that it has */
};

static const struct failure_row failures[] = {
    {AT_LISTING,          "lllllllllllvNNlllll", "0"},
    {AT_LISTING_PAGE_2,   "lllllllllllvANlllll", "0"},
    {AT_RELISTING,        "lllllllllllvNNlllll", "5"},
    {AT_LISTING_NEWEST,   "nnnnnnnnnnnvnnnnnnn", "-"},
    {AT_WATCHING,         "lwwwwwllwwlvlnwllww", "5"},
    {AT_PROBING,          "pppppppppppvppppppp", "5"},
    {AT_COMPARING,        "nwwwwwnnwwnvnnwnnww", "-"},
    {AT_STREAMING,        "LssLssLLsLLLttsLLss", "-"},
    {AT_RESTREAMING,      "LssLssLLsLLLSSsLLss", "5"},
    {AT_STREAMING_NEWEST, "LttLttLLtLLLtttLLtt", "-"},
};

/* The next request must be a list from the version of the row. */
static void want_list(const struct failure_row *row, bool at_once)
{
    bool zero = row->at == AT_STREAMING || strcmp(row->rv, "0") == 0;
    bool pages = zero || strcmp(row->rv, "-") == 0;
    bool second = row->at == AT_RELISTING; /* the step of the backoff */
    struct buf want = {0};

    buf_printf(&want, "L(%s)%s", zero ? "0" : row->rv, pages ? " limit=500" : "");
    if (at_once)
        reflector_rig_want(buf_cstr(&want));
    else
        reflector_rig_want_wait_then(second ? 1600 : INITIAL, buf_cstr(&want));
    buf_free(&want);
}

static void want_stream(const struct failure_row *row, const char *rv)
{
    struct buf want = {0};

    buf_printf(&want, "S(%s)", rv);
    reflector_rig_want_wait_then(row->at == AT_STREAMING ? INITIAL : 1600, buf_cstr(&want));
    buf_free(&want);
}

static void want_after_long(const struct failure_row *row)
{
    static const char *const again[AT_COUNT] = {
        [AT_LISTING] = "L(0) limit=500", [AT_LISTING_PAGE_2] = "L(0) limit=500",
        [AT_RELISTING] = "L(5)",         [AT_LISTING_NEWEST] = "L(-) limit=500",
        [AT_WATCHING] = "W(5)",          [AT_PROBING] = "P(-) limit=1",
        [AT_FULL] = "xxxxxxxxxlxxxlf",   [AT_COMPARING] = "W(-)",
    };

    reflector_rig_want_wait_then(600000, again[row->at]);
}

static void check_failure(const struct failure_row *row, enum err_kind kind)
{
    go_to(row->at);
    reflector_rig_failed(kind);
    switch (row->answers[kind]) {
    case 'N':
        reflector_rig_want("L(-) limit=500");
        break;
    case 'A':
        reflector_rig_want("L(0)");
        break;
    case 'S':
        reflector_rig_want("S(-)");
        break;
    case 'p':
        reflector_rig_want_wait_then(INITIAL, "P(-) limit=1");
        break;
    case 'w':
        reflector_rig_want_wait_then(INITIAL, row->at == AT_COMPARING ? "W(-)" : "W(5)");
        break;
    case 'v':
        want_after_long(row);
        break;
    case 'n':
        reflector_rig_want_wait_then(INITIAL, "L(-) limit=500");
        break;
    case 's':
        want_stream(row, row->rv);
        break;
    case 't':
        want_stream(row, "-");
        break;
    default:
        want_list(row, row->answers[kind] == 'L');
        break;
    }
    reflector_rig_clean_up(NULL);
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

enum input {
    IN_START,
    IN_LISTED,
    IN_PAGE,
    IN_SEEN,
    IN_ENDED,
    IN_FAILED,
    IN_TIMER,
    IN_STREAMED,
    IN_HELD,
    IN_RELIST,
    IN_DOUBTED,
    IN_COMPARED,
    IN_FULL,
    IN_ROOM,    /* a look that finds room, .. */
    IN_NO_ROOM, /* .. and one that does not */
    IN_COUNT
};

static void give_more(enum input in)
{
    if (in == IN_STREAMED)
        reflector_streamed(reflector_rig.r, str_c("9"), reflector_rig.now);
    if (in == IN_HELD)
        reflector_rig_held(60000);
    if (in == IN_RELIST)
        reflector_rig_relist(RELIST_MANUAL);
    if (in == IN_DOUBTED)
        reflector_doubted(reflector_rig.r, reflector_rig.now);
    if (in == IN_COMPARED)
        reflector_compared(reflector_rig.r, str_c(""));
    if (in == IN_FULL)
        reflector_full(reflector_rig.r);
    if (in == IN_ROOM || in == IN_NO_ROOM)
        reflector_look(reflector_rig.r, in == IN_ROOM, reflector_rig.now);
}

static void give(enum input in)
{
    switch (in) {
    case IN_START:
        reflector_rig_start();
        break;
    case IN_LISTED:
        reflector_rig_listed("9", "");
        break;
    case IN_PAGE:
        reflector_rig_listed("9", "more");
        break;
    case IN_SEEN:
        reflector_rig_seen("9");
        break;
    case IN_ENDED:
        reflector_rig_ended_after(5000);
        break;
    case IN_FAILED:
        reflector_rig_failed(ERR_SERVER);
        break;
    case IN_TIMER:
        reflector_rig.last.what = REFLECTOR_WAIT;
        reflector_rig_timer();
        break;
    case IN_STREAMED:
    case IN_HELD:
    case IN_RELIST:
    case IN_DOUBTED:
    case IN_COMPARED:
    case IN_FULL:
    case IN_ROOM:
    case IN_NO_ROOM:
    case IN_COUNT:
        give_more(in);
        break;
    }
}

/* 'x' = may not happen; else the state it leads to: l(isting), s(treaming), c(omparing),
 * w(atching), p(robing), b(ackoff), h(eld), f(ull). In order of enum input. */
static const char *const answers[AT_COUNT] = {
    [AT_IDLE] = "lxxxxxlxxlxxxxx",
    [AT_LISTING] = "xwlxxbxxhlxxfxx",
    [AT_LISTING_PAGE_2] = "xwlxxbxxhlxxfxx",
    [AT_LISTING_NEWEST] = "xwlxxbxxhlxxfxx",
    [AT_RELISTING] = "xwlxxbxxhlxxfxx",
    [AT_WATCHING] = "xxxwwbxxxlpxfxx",
    [AT_BACKOFF_TO_LIST] = "xxxxxxlxxlxxxxx",
    [AT_BACKOFF_TO_WATCH] = "xxxxxxwxxlxxxxx",
    [AT_PROBING] = "xwwxxbxxxlxxxxx",
    [AT_HELD] = "xxxxxxlxxlxxxxx",
    [AT_FULL] = "xxxxxxxxxlxxxlf",
    [AT_COMPARING] = "xxxclbxxhlxwfxx",
    [AT_STREAMING] = "xwxsslxwhsxxfxx",
    [AT_RESTREAMING] = "xwxsslxwhsxxfxx",
    [AT_STREAMING_NEWEST] = "xwxsslxwhsxxfxx",
};

/* Does the input end the program with a message? */
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
    static const char letters[] = {
        [REFLECTOR_IDLE] = 'i',     [REFLECTOR_LISTING] = 'l',   [REFLECTOR_STREAMING] = 's',
        [REFLECTOR_WATCHING] = 'w', [REFLECTOR_PROBING] = 'p',   [REFLECTOR_BACKOFF] = 'b',
        [REFLECTOR_HELD] = 'h',     [REFLECTOR_COMPARING] = 'c', [REFLECTOR_FULL] = 'f',
    };
    char want = answers[at][in];

    if (want == 'x') {
        assert_true(aborts(at, in));
        return;
    }
    go_to(at);
    give(in);
    assert_int_equal(letters[reflector_state(reflector_rig.r)], want);
    reflector_rig_clean_up(NULL);
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
