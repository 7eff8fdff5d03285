/* SPDX-License-Identifier: Apache-2.0 */
/* The control socket against clients that send in pieces, pipeline, send nonsense, dawdle and
 * vanish. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <sys/socket.h>
#include <unistd.h>

#include "listener_rig.h"
#include "play_clock.h"

static const char answer_a[] =
    "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nx</a>";

static void test_a_request_cut_at_every_byte(void **state)
{
    static const char request[] = "GET /a HTTP/1.1\r\nHost: x\r\n\r\n";
    struct rig *t = *state;
    struct rig_peer *p;

    rig_start(t);
    p = rig_connect(t);
    for (size_t cut = 1; cut < strlen(request); cut++) {
        char first[64];

        snprintf(first, sizeof(first), "%.*s", (int)cut, request);
        buf_clear(&p->got);
        buf_clear(&t->asked);
        rig_say(p, first);
        rig_run_until(t, rig_one_turn);
        assert_int_equal(t->asked.len, 0);
        rig_say(p, request + cut);
        rig_run_until(t, rig_first_answered);
        assert_string_equal(buf_cstr(&p->got), answer_a);
        assert_string_equal(buf_cstr(&t->asked), "GET /a;");
    }
    assert_false(p->eof);
}

static bool third_answered(struct rig *t)
{
    return strstr(buf_cstr(&t->peers[0].got), "</c>") != NULL;
}

static void test_pipelined_requests_are_answered_in_order(void **state)
{
    struct rig *t = *state;
    struct rig_peer *p;
    const char *a;
    const char *b;

    rig_start(t);
    p = rig_connect(t);
    rig_say(p, "GET /a HTTP/1.1\r\n\r\nPOST /b HTTP/1.1\r\nContent-Length: 3\r\n\r\nxyz"
               "GET /c HTTP/1.1\r\n\r\nGET /d HT");
    rig_run_until(t, third_answered);
    a = strstr(buf_cstr(&p->got), "</a>");
    b = strstr(buf_cstr(&p->got), "</b>");
    assert_true(a != NULL && b != NULL && a < b);
    assert_string_equal(buf_cstr(&t->asked), "GET /a;POST /b;GET /c;");
    buf_clear(&p->got);
    rig_say(p, "TP/1.1\r\n\r\n");
    rig_run_until(t, rig_first_answered);
    assert_non_null(strstr(buf_cstr(&p->got), "</d>"));
    assert_false(p->eof);
}

static void test_the_end_of_keep_alive(void **state)
{
    static const char *const last[] = {
        "GET /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        "GET /a HTTP/1.0\r\nHost: x\r\n\r\n",
    };
    struct rig *t = *state;

    rig_start(t);
    for (size_t i = 0; i < ARRAY_LEN(last); i++) {
        t->peer_count = 0;
        struct rig_peer *p = rig_connect(t);

        rig_say(p, last[i]);
        rig_run_until(t, rig_first_eof);
        assert_string_equal(buf_cstr(&p->got), answer_a);
        close(p->fd);
        buf_free(&p->got);
        *p = (struct rig_peer){.fd = -1};
    }
}

static void test_a_client_may_close_its_side_first(void **state)
{
    struct rig *t = *state;
    struct rig_peer *p;

    rig_start(t);
    p = rig_connect(t);
    rig_say(p, "GET /a HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_int_equal(shutdown(p->fd, SHUT_WR), 0);
    rig_run_until(t, rig_first_eof);
    assert_string_equal(buf_cstr(&p->got), answer_a);
}

static void test_garbage_is_400_and_the_end(void **state)
{
    static const char *const garbage[] = {
        "\x16\x03\x01\x02",
        "hello\r\n\r\n",
        "GET /a HTTP/9.9\r\n\r\n",
        "GET /a HTTP/1.1\r\nContent-Length: x\r\n\r\n",
        "GET /a HTTP/1.1\r\nContent-Length: 70000\r\n\r\n",
    };
    struct rig *t = *state;

    rig_start(t);
    for (size_t i = 0; i < ARRAY_LEN(garbage); i++) {
        t->peer_count = 0;
        struct rig_peer *p = rig_connect(t);

        rig_say(p, garbage[i]);
        if (i + 1 == ARRAY_LEN(garbage))
            rig_say_many(p, "0123456789", 7000);
        rig_run_until(t, rig_first_eof);
        if (strncmp(buf_cstr(&p->got), "HTTP/1.1 400 Bad Request\r\n", 26) != 0)
            fail_msg("garbage %zu: %s", i, buf_cstr(&p->got));
        assert_non_null(strstr(buf_cstr(&p->got), "{\"error\":\""));
        close(p->fd);
        buf_free(&p->got);
        *p = (struct rig_peer){.fd = -1};
    }
    assert_int_equal(t->asked.len, 0);
}

static void test_an_endless_head_is_400(void **state)
{
    struct rig *t = *state;
    struct rig_peer *p;

    rig_start(t);
    p = rig_connect(t);
    rig_say(p, "GET /a HTTP/1.1\r\n");
    rig_say_many(p, "X-Long: 1\r\n", 1800);
    rig_run_until(t, rig_first_eof);
    assert_int_equal(strncmp(buf_cstr(&p->got), "HTTP/1.1 400 ", 13), 0);
}

static void test_head_has_no_body(void **state)
{
    struct rig *t = *state;
    struct rig_peer *p;

    rig_start(t);
    p = rig_connect(t);
    rig_say(p, "HEAD /a HTTP/1.1\r\n\r\nGET /a HTTP/1.1\r\n\r\n");
    rig_run_until(t, rig_first_answered);
    assert_non_null(strstr(buf_cstr(&p->got), "Content-Length: 4\r\n\r\nHTTP/1.1 200 OK\r\n"));
}

static bool first_got_all(struct rig *t)
{
    return t->peers[0].got.len > RIG_BIG_BYTES;
}

static void test_a_large_answer_comes_whole(void **state)
{
    struct rig *t = *state;
    struct rig_peer *p;

    rig_start(t);
    p = rig_connect(t);
    rig_say(p, "GET /big HTTP/1.1\r\n\r\n");
    rig_run_until(t, first_got_all);
    assert_memory_equal(p->got.data + p->got.len - 16, "0123456789abcdef", 16);
    assert_false(p->eof);
}

/* The client is dropped, and no other client notices. */
static void test_a_reader_that_stands_still_is_dropped(void **state)
{
    struct rig *t = *state;
    struct rig_peer *slow;

    rig_start(t);
    slow = rig_connect(t);
    slow->reading = false;
    rig_say(slow, "GET /big HTTP/1.1\r\n\r\n");
    rig_run_until(t, rig_asked);
    rig_run_until(t, rig_one_turn); /* the answer has begun */
    rig_pass(t);
    slow->reading = true;
    rig_run_until(t, rig_first_eof);
    assert_true(slow->got.len > 0 && slow->got.len < RIG_BIG_BYTES);
}

static bool read_slowly(struct rig *t)
{
    struct rig_peer *p = &t->peers[0];
    char bytes[65536];

    play_clock_pass(RIG_IDLE_MS / 50);
    ssize_t n = recv(p->fd, bytes, sizeof(bytes), MSG_DONTWAIT);

    p->eof = n == 0;
    if (n > 0)
        buf_append(&p->got, bytes, (size_t)n);
    return p->eof || p->got.len > RIG_BIG_BYTES;
}

/* 128 pieces or more: longer than the deadline in all, but never without progress. */
static void test_a_reader_that_makes_progress_is_served(void **state)
{
    struct rig *t = *state;
    struct rig_peer *p;

    rig_start(t);
    p = rig_connect(t);
    p->reading = false;
    rig_say(p, "GET /big HTTP/1.1\r\n\r\n");
    rig_run_until(t, read_slowly);
    assert_true(p->got.len > RIG_BIG_BYTES);
}

static void test_a_silent_client_is_dropped(void **state)
{
    struct rig *t = *state;

    rig_start(t);
    rig_say(rig_connect(t), "GET /a HT");
    rig_run_until(t, rig_one_turn);
    rig_run_until(t, rig_one_turn);
    assert_false(t->peers[0].eof);
    rig_pass(t);
    rig_run_until(t, rig_first_eof);
    assert_int_equal(t->peers[0].got.len, 0);
    assert_int_equal(t->asked.len, 0);
}

static void test_a_client_that_vanishes(void **state)
{
    struct rig *t = *state;
    struct rig_peer *p;

    rig_start(t);
    p = rig_connect(t);
    rig_say(p, "GET /big HTTP/1.1\r\n\r\n");
    p->reading = false;
    rig_run_until(t, rig_asked);
    assert_int_equal(shutdown(p->fd, SHUT_RDWR), 0);
    rig_say(rig_connect(t), "GET /a HTTP/1.1\r\n\r\n");
    t->peers[0].reading = false;
    struct rig_peer first = t->peers[0];
    t->peers[0] = t->peers[1];
    t->peers[1] = first;
    rig_run_until(t, rig_first_answered);
}

static void test_disposed_from_inside_its_callback(void **state)
{
    struct rig *t = *state;

    rig_start(t);
    t->dispose = true;
    rig_say(rig_connect(t), "GET /big HTTP/1.1\r\n\r\nGET /a HTTP/1.1\r\n\r\n");
    rig_run_until(t, rig_first_eof);
    assert_null(t->listener);
    assert_string_equal(buf_cstr(&t->asked), "GET /big;");
}

#define RIGGED(test) cmocka_unit_test_setup_teardown(test, rig_set_up, rig_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        RIGGED(test_a_request_cut_at_every_byte),
        RIGGED(test_pipelined_requests_are_answered_in_order),
        RIGGED(test_the_end_of_keep_alive),
        RIGGED(test_a_client_may_close_its_side_first),
        RIGGED(test_garbage_is_400_and_the_end),
        RIGGED(test_an_endless_head_is_400),
        RIGGED(test_head_has_no_body),
        RIGGED(test_a_large_answer_comes_whole),
        RIGGED(test_a_reader_that_stands_still_is_dropped),
        RIGGED(test_a_reader_that_makes_progress_is_served),
        RIGGED(test_a_silent_client_is_dropped),
        RIGGED(test_a_client_that_vanishes),
        RIGGED(test_disposed_from_inside_its_callback),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
