/* SPDX-License-Identifier: Apache-2.0 */
/* io/listener: more clients than places. Neither clients that ask for nothing nor clients of the
 * socket's group keep root out. */
#include "listener_rig.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "loop_until.h"

/* IN_A_TURN: so many clients may be accepted in one turn of the loop. */
enum { NOBODY = 65534, WAITING = 128, IN_A_TURN = 32 };

static const char ask_large[] = "GET /large HTTP/1.1\r\n\r\n";
static const char ask_short[] = "GET /a HTTP/1.1\r\n\r\n";

static struct rig_peer *last(struct rig *t)
{
    return &t->peers[t->peer_count - 1];
}

static bool last_got_answer(struct rig *t)
{
    return strchr(buf_cstr(&last(t)->got), '>') != NULL;
}

static bool last_got_refusal(struct rig *t)
{
    return strstr(buf_cstr(&last(t)->got), "HTTP/1.1 503 ") != NULL && last(t)->eof;
}

static void turns(struct rig *t)
{
    for (int i = 0; i < 20; i++)
        rig_run_until(t, rig_one_turn);
}

static size_t count_asked(struct rig *t)
{
    size_t n = 0;

    for (size_t i = 0; i < t->asked.len; i++)
        n += buf_cstr(&t->asked)[i] == ';';
    return n;
}

static bool all_have_asked(struct rig *t)
{
    return count_asked(t) == t->peer_count;
}

/* Clients that do not take their answers. A newer libuv accepts one a turn, so the test waits for
 * all of them. */
static void fill_with_busy(struct rig *t, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct rig_peer *p = rig_connect(t);

        p->reading = false;
        rig_say(p, ask_large);
    }
    rig_run_until(t, all_have_asked);
}

static void ask_once_more(struct rig *t)
{
    rig_say(rig_connect(t), ask_short);
}

static void test_the_one_that_is_idle_for_longest_makes_place(void **state)
{
    struct rig *t = *state;

    rig_start(t);
    for (size_t i = 0; i < LISTENER_CLIENTS; i++)
        rig_connect(t);
    turns(t);
    rig_say(&t->peers[0], ask_short); /* the second client is idle for longest then */
    rig_run_until(t, rig_first_answered);
    ask_once_more(t);
    rig_run_until(t, last_got_answer);
    turns(t);
    for (size_t i = 0; i < t->peer_count; i++)
        assert_true(t->peers[i].eof == (i == 1));
}

static void test_half_a_request_is_idle(void **state)
{
    struct rig *t = *state;

    rig_start(t);
    for (size_t i = 0; i < LISTENER_CLIENTS; i++)
        rig_say(rig_connect(t), "GET /a HTT");
    turns(t);
    ask_once_more(t);
    rig_run_until(t, last_got_answer);
    assert_true(t->peers[0].eof);
}

static void test_of_many_at_once_all_are_answered(void **state)
{
    struct rig *t = *state;
    size_t n = LISTENER_CLIENTS + WAITING / 2;

    rig_start(t);
    for (size_t i = 0; i < n; i++)
        rig_say(rig_connect(t), ask_short);
    rig_run_until(t, last_got_answer);
    turns(t);
    assert_int_equal(t->asked.len, n * strlen("GET /a;"));
    for (size_t i = 0; i < n; i++)
        assert_non_null(strstr(buf_cstr(&t->peers[i].got), "</a>"));
}

/* Counts the requests of each turn of the loop. */
struct in_turns {
    struct rig *rig;
    size_t asked; /* requests before this turn */
    size_t most;  /* requests in one turn */
};

static bool look_at_turn(void *arg)
{
    struct in_turns *in = arg;
    size_t asked = count_asked(in->rig);

    in->most = asked - in->asked > in->most ? asked - in->asked : in->most;
    in->asked = asked;
    return all_have_asked(in->rig);
}

/* Clients that connect as fast as they are accepted would hold up everything else. */
static void test_a_turn_of_the_loop_accepts_only_so_many(void **state)
{
    struct rig *t = *state;
    struct in_turns in = {.rig = t};

    rig_start(t);
    for (size_t i = 0; i < LISTENER_CLIENTS; i++)
        rig_say(rig_connect(t), ask_short);
    loop_until(t->loop, look_at_turn, &in);
    assert_in_range(in.most, 1, IN_A_TURN);
}

static void test_a_client_that_finds_all_places_busy_waits(void **state)
{
    struct rig *t = *state;

    rig_start(t);
    fill_with_busy(t, LISTENER_CLIENTS);
    ask_once_more(t);
    turns(t);
    assert_int_equal(last(t)->got.len, 0);
    t->peers[5].reading = true; /* takes its answer, and is idle then */
    rig_run_until(t, last_got_answer);
}

static void test_a_client_that_waits_for_too_long_is_refused(void **state)
{
    struct rig *t = *state;

    rig_start(t);
    fill_with_busy(t, LISTENER_CLIENTS);
    ask_once_more(t);
    turns(t);
    rig_pass(t);
    rig_run_until(t, last_got_refusal);
}

static void test_only_so_many_wait(void **state)
{
    struct rig *t = *state;

    rig_start(t);
    fill_with_busy(t, LISTENER_CLIENTS);
    for (size_t i = 0; i < WAITING; i++) {
        ask_once_more(t);
        rig_run_until(t, rig_one_turn); /* accepted: the backlog has no room for all of them */
    }
    turns(t);
    assert_int_equal(last(t)->got.len, 0);
    ask_once_more(t);
    rig_run_until(t, last_got_refusal);
    assert_false(t->peers[t->peer_count - 2].eof);
}

static void test_disposed_while_some_wait(void **state)
{
    struct rig *t = *state;

    rig_start(t);
    fill_with_busy(t, LISTENER_CLIENTS);
    ask_once_more(t);
    turns(t);
    listener_dispose(&t->listener);
    turns(t);
    assert_true(last(t)->eof);
}

/* ---- Root and others */

static void say_and_wait(const struct rig *t, const char *text, size_t n, int told)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};

    memcpy(at.sun_path, t->path, sizeof(t->path));
    if (setgid(NOBODY) != 0 || setuid(NOBODY) != 0)
        _exit(1);
    for (size_t i = 0; i < n; i++) {
        int fd = socket(AF_UNIX, SOCK_STREAM, 0);

        if (connect(fd, (const struct sockaddr *)&at, sizeof(at)) != 0 ||
            write(fd, text, strlen(text)) != (ssize_t)strlen(text))
            _exit(1);
    }
    if (write(told, "", 1) != 1)
        _exit(1);
    pause();
    _exit(0);
}

/* Clients of another user, who get this answer and never read. */
static pid_t others(struct rig *t, const char *text, size_t n)
{
    int told[2];
    char byte;

    assert_int_equal(chmod(t->dir, 0755), 0);
    assert_int_equal(chmod(t->path, 0666), 0);
    assert_int_equal(pipe(told), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        say_and_wait(t, text, n, told[1]);
    close(told[1]);
    assert_int_equal(read(told[0], &byte, 1), 1);
    close(told[0]);
    return pid;
}

static void end(pid_t pid)
{
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void expect_root_is_served(struct rig *t, const char *text, const char *request)
{
    if (getuid() != 0)
        skip();
    rig_start(t);
    pid_t pid = others(t, text, LISTENER_CLIENTS + WAITING / 4);
    turns(t);
    rig_say(rig_connect(t), request);
    if (strcmp(request, ask_short) == 0)
        rig_run_until(t, rig_first_answered);
    else
        while (strstr(buf_cstr(&t->peers[0].got), "200 OK") == NULL)
            rig_run_until(t, rig_one_turn);
    assert_true(t->privileged);
    end(pid);
}

static void test_idle_clients_do_not_keep_root_out(void **state)
{
    expect_root_is_served(*state, "", ask_short);
}

static void test_busy_clients_do_not_keep_root_out(void **state)
{
    expect_root_is_served(*state, ask_large, ask_short);
}

static void test_streams_of_others_leave_some_to_root(void **state)
{
    expect_root_is_served(*state, "GET /follow HTTP/1.1\r\n\r\n", "GET /follow HTTP/1.1\r\n\r\n");
}

/* Root is served first, though another client waits for longer; and that client may not have root's
 * place. */
static void test_root_goes_before_others_that_wait(void **state)
{
    struct rig *t = *state;

    if (getuid() != 0)
        skip();
    rig_start(t);
    fill_with_busy(t, LISTENER_CLIENTS);
    pid_t pid = others(t, ask_short, 2);
    turns(t);
    ask_once_more(t);
    turns(t);
    buf_clear(&t->asked);
    t->peers[0].reading = true;
    rig_run_until(t, last_got_answer);
    turns(t);
    assert_string_equal(buf_cstr(&t->asked), "GET /a;");
    assert_true(t->privileged);
    end(pid);
}

#define RIGGED(test) cmocka_unit_test_setup_teardown(test, rig_set_up, rig_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        RIGGED(test_the_one_that_is_idle_for_longest_makes_place),
        RIGGED(test_half_a_request_is_idle),
        RIGGED(test_of_many_at_once_all_are_answered),
        RIGGED(test_a_turn_of_the_loop_accepts_only_so_many),
        RIGGED(test_a_client_that_finds_all_places_busy_waits),
        RIGGED(test_a_client_that_waits_for_too_long_is_refused),
        RIGGED(test_only_so_many_wait),
        RIGGED(test_disposed_while_some_wait),
        RIGGED(test_idle_clients_do_not_keep_root_out),
        RIGGED(test_busy_clients_do_not_keep_root_out),
        RIGGED(test_streams_of_others_leave_some_to_root),
        RIGGED(test_root_goes_before_others_that_wait),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
