/* SPDX-License-Identifier: Apache-2.0 */
/* Answers that go on, for readers that keep up, dawdle, stop reading, send, half close and
 * vanish. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <sys/socket.h>
#include <unistd.h>

#include "listener_rig.h"

#include "admin/journal.h"
#include "base/log.h"

static const char head[] =
    "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n";
static const char request[] = "GET /follow HTTP/1.1\r\n\r\n";

static size_t lines_of(struct rig_peer *p)
{
    size_t n = 0;

    for (const char *at = buf_cstr(&p->got); (at = strchr(at, '\n')) != NULL; at++)
        n++;
    return n >= 4 ? n - 4 : 0; /* without the head */
}

static bool first_has_three(struct rig *t)
{
    return lines_of(&t->peers[0]) == 3;
}

static bool first_has_four(struct rig *t)
{
    return lines_of(&t->peers[0]) == 4;
}

static bool first_has_head(struct rig *t)
{
    return t->peers[0].got.len >= strlen(head);
}

static bool last_has_answer(struct rig *t)
{
    return t->peers[t->peer_count - 1].got.len >= strlen(head);
}

static void turns(struct rig *t, int n)
{
    for (int i = 0; i < n; i++)
        rig_run_until(t, rig_one_turn);
}

static void hang_up(struct rig_peer *p)
{
    close(p->fd);
    p->fd = -1;
    p->eof = true;
}

static void test_lines_come_as_they_are_written(void **state)
{
    struct rig *t = *state;

    rig_start(t);
    rig_note(t, 2);
    rig_say(rig_connect(t), request);
    rig_run_until(t, first_has_head);
    assert_memory_equal(t->peers[0].got.data, head, strlen(head));
    rig_note(t, 1);
    rig_run_until(t, first_has_three);
    rig_note(t, 1);
    rig_run_until(t, first_has_four);
    assert_false(t->peers[0].eof);
}

/* The head comes at once, and no line for far longer than the deadline of an answer. */
static void test_a_quiet_stream_stays_open(void **state)
{
    struct rig *t = *state;

    rig_start(t);
    rig_say(rig_connect(t), request);
    rig_run_until(t, first_has_head);
    rig_pass(t);
    rig_note(t, 3);
    rig_run_until(t, first_has_three);
    assert_false(t->peers[0].eof);
}

static bool second_answered(struct rig *t)
{
    return strchr(buf_cstr(&t->peers[1].got), '>') != NULL;
}

/* Fills the buffers between the journal and a reader that does not read. */
static void fill(struct rig *t)
{
    for (int i = 0; i < 40; i++) {
        rig_note(t, JOURNAL_LINES / 4);
        turns(t, 1);
    }
}

static void test_a_reader_that_stands_still_is_cut_off(void **state)
{
    struct rig *t = *state;
    struct rig_peer *slow;

    rig_start(t);
    slow = rig_connect(t);
    slow->reading = false;
    rig_say(slow, request);
    rig_run_until(t, rig_asked);
    fill(t);
    rig_say(rig_connect(t), "GET /a HTTP/1.1\r\n\r\n");
    rig_run_until(t, second_answered);
    rig_pass(t);
    slow->reading = true;
    rig_run_until(t, rig_first_eof);
    assert_true(lines_of(slow) > 100);
    assert_null(strstr(buf_cstr(&slow->got), "\"what\":\"error\""));
}

static void test_a_reader_that_falls_behind_is_told_why(void **state)
{
    struct rig *t = *state;
    struct rig_peer *slow;
    const char *last;

    rig_start(t);
    slow = rig_connect(t);
    slow->reading = false;
    rig_say(slow, request);
    rig_run_until(t, rig_asked);
    fill(t);
    slow->reading = true;
    rig_run_until(t, rig_first_eof);
    last = strstr(buf_cstr(&slow->got), "{\"what\":\"error\"");
    assert_non_null(last);
    assert_non_null(strstr(last, "\"lost\":"));
    assert_ptr_equal(strchr(last, '\n'), slow->got.data + slow->got.len - 1);
}

static void test_only_so_many_at_once(void **state)
{
    struct rig *t = *state;
    struct rig_peer *extra;

    rig_start(t);
    for (int i = 0; i < LISTENER_STREAMS; i++) {
        rig_say(rig_connect(t), request);
        rig_run_until(t, last_has_answer);
        assert_memory_equal(t->peers[i].got.data, head, strlen(head));
    }
    extra = rig_connect(t);
    rig_say(extra, request);
    rig_run_until(t, last_has_answer);
    assert_non_null(strstr(buf_cstr(&extra->got), "HTTP/1.1 503 "));
    assert_non_null(strstr(buf_cstr(&extra->got), "too many streams"));
    hang_up(&t->peers[3]); /* its place is free, although nothing was written to it */
    turns(t, 2);
    buf_clear(&extra->got);
    rig_say(extra, request); /* the connection was kept */
    rig_run_until(t, last_has_answer);
    assert_memory_equal(extra->got.data, head, strlen(head));
}

static void test_disposed_with_streams_open(void **state)
{
    struct rig *t = *state;
    struct rig_peer *slow;

    rig_start(t);
    rig_say(rig_connect(t), request);
    rig_run_until(t, first_has_head);
    slow = rig_connect(t);
    slow->reading = false;
    rig_say(slow, request);
    turns(t, 2);
    fill(t);
    rig_note(t, 1); /* the reader of a quiet stream is about to pull */
    listener_dispose(&t->listener);
    rig_note(t, 1);
    rig_run_until(t, rig_first_eof);
}

static void test_disposed_while_a_stream_is_made(void **state)
{
    struct rig *t = *state;

    rig_start(t);
    t->dispose = true;
    rig_say(rig_connect(t), request);
    rig_run_until(t, rig_first_eof);
    assert_null(t->listener);
    assert_int_equal(t->peers[0].got.len, 0);
}

/* The client closes its half, but reads on. */
static void test_a_peer_that_has_shut_its_side(void **state)
{
    struct rig *t = *state;

    rig_start(t);
    rig_say(rig_connect(t), request);
    assert_int_equal(shutdown(t->peers[0].fd, SHUT_WR), 0);
    rig_run_until(t, first_has_head);
    rig_pass(t);
    rig_note(t, 3);
    rig_run_until(t, first_has_three);
    rig_pass(t);
    rig_note(t, 1);
    rig_run_until(t, first_has_four);
    assert_false(t->peers[0].eof);
}

static bool last_follows(struct rig *t)
{
    struct rig_peer *p = &t->peers[t->peer_count - 1];

    if (strstr(buf_cstr(&p->got), "too many streams") != NULL) {
        buf_clear(&p->got);
        rig_say(p, request);
    }
    return strstr(buf_cstr(&p->got), "Connection: close") != NULL;
}

/* The daemon does not read from the client any more and has nothing to write, but the client loses
 * its place when it is gone. */
static void test_a_peer_that_has_shut_its_side_and_then_goes(void **state)
{
    struct rig *t = *state;

    rig_start(t);
    for (int i = 0; i < LISTENER_STREAMS; i++) {
        rig_say(rig_connect(t), request);
        assert_int_equal(shutdown(t->peers[i].fd, SHUT_WR), 0);
        rig_run_until(t, last_has_answer);
    }
    for (int i = 0; i < LISTENER_STREAMS; i++)
        hang_up(&t->peers[i]);
    rig_pass(t);
    rig_say(rig_connect(t), request);
    rig_run_until(t, last_follows);
}

static void test_a_reader_that_vanishes_while_it_is_written_to(void **state)
{
    struct rig *t = *state;

    rig_start(t);
    for (int i = 0; i < LISTENER_STREAMS; i++) {
        struct rig_peer *p = rig_connect(t);

        p->reading = false;
        rig_say(p, request);
    }
    fill(t);
    for (int i = 0; i < LISTENER_STREAMS; i++)
        hang_up(&t->peers[i]);
    rig_say(rig_connect(t), request);
    rig_run_until(t, last_follows);
}

static void test_bytes_from_the_reader_are_ignored(void **state)
{
    struct rig *t = *state;

    rig_start(t);
    rig_say(rig_connect(t), "GET /follow HTTP/1.1\r\n\r\nGET /a HTTP/1.1\r\n\r\n");
    rig_run_until(t, first_has_head);
    rig_say_many(&t->peers[0], "GET /b HTTP/1.1\r\n\r\n", 100);
    rig_note(t, 3);
    rig_run_until(t, first_has_three);
    assert_string_equal(buf_cstr(&t->asked), "GET /follow;");
}

static void test_head_of_a_stream(void **state)
{
    struct rig *t = *state;

    rig_start(t);
    rig_note(t, 3);
    rig_say(rig_connect(t), "HEAD /follow HTTP/1.1\r\n\r\n");
    rig_run_until(t, rig_first_eof);
    assert_string_equal(buf_cstr(&t->peers[0].got), head);
}

static int set_up(void **state)
{
    log_set_level(LOG_LVL_ERROR);
    return rig_set_up(state);
}

#define RIGGED(test) cmocka_unit_test_setup_teardown(test, set_up, rig_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        RIGGED(test_lines_come_as_they_are_written),
        RIGGED(test_a_quiet_stream_stays_open),
        RIGGED(test_a_reader_that_stands_still_is_cut_off),
        RIGGED(test_a_reader_that_falls_behind_is_told_why),
        RIGGED(test_only_so_many_at_once),
        RIGGED(test_disposed_with_streams_open),
        RIGGED(test_disposed_while_a_stream_is_made),
        RIGGED(test_a_peer_that_has_shut_its_side),
        RIGGED(test_a_peer_that_has_shut_its_side_and_then_goes),
        RIGGED(test_a_reader_that_vanishes_while_it_is_written_to),
        RIGGED(test_bytes_from_the_reader_are_ignored),
        RIGGED(test_head_of_a_stream),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
