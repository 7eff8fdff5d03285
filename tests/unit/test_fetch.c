/* SPDX-License-Identifier: Apache-2.0 */
/* io/fetch on the loopback: the outcome of each kind of answer, its bounds, dispose anywhere. */
#include "io/fetch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "io/loop.h"
#include "loop_until.h"
#include "play_clock.h"
#include "play_memory.h"
#include "request_probe.h"
#include "server.h"

enum { TIMEOUT_MS = 10000 };

static const struct server_step hello[] = SERVER_SAYS(SERVER_OK_HEAD "hello", SERVER_CLOSE);
static const struct server_step empty[] = SERVER_SAYS(SERVER_OK_HEAD, SERVER_CLOSE);
static const struct server_step cut[] =
    SERVER_SAYS("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello", SERVER_CLOSE);
static const struct server_step missing[] =
    SERVER_SAYS(SERVER_EMPTY("404 Not Found"), SERVER_CLOSE);
static const struct server_step cut_missing[] =
    SERVER_SAYS("HTTP/1.1 404 Not Found\r\nContent-Length: 9\r\n\r\nhello", SERVER_CLOSE);
static const struct server_step busy[] = SERVER_SAYS(
    "HTTP/1.1 429 Busy\r\nRetry-After: 7\r\nConnection: close\r\n\r\nslow down", SERVER_CLOSE);
static const struct server_step very_busy[] = SERVER_SAYS(
    "HTTP/1.1 503 Busy\r\nRetry-After: 7\r\nConnection: close\r\n\r\n{\"kind\":\"Status\","
    "\"details\":{\"retryAfterSeconds\":9}}",
    SERVER_CLOSE);
static const struct server_step created[] =
    SERVER_SAYS("HTTP/1.1 201 Created\r\nConnection: close\r\n\r\nhello", SERVER_CLOSE);
/* The connection is closed when the next request comes on it. */
static const struct server_step created_once[] = {
    {SERVER_READ,  NULL                                                    },
    {SERVER_SEND,  "HTTP/1.1 201 Created\r\nContent-Length: 5\r\n\r\nhello"},
    {SERVER_READ,  NULL                                                    },
    {SERVER_CLOSE, NULL                                                    }
};
static const struct server_step hold[] = {
    {SERVER_READ, NULL},
    {SERVER_HOLD, NULL}
};
/* An error page without an end, in which the connection is held. */
static const struct server_step endless[] = {
    {SERVER_READ,  NULL                                                     },
    {SERVER_SEND,  "HTTP/1.1 500 Oops\r\nTransfer-Encoding: chunked\r\n\r\n"},
    {SERVER_FLOOD, "2\r\nno\r\n"                                            },
    {SERVER_HOLD,  NULL                                                     }
};

struct rig {
    struct client_probe on;
    struct server *server;
    struct fetch *fetch;
    struct buf taken; /* by take() */
    bool dispose;     /* in on_answer() */
    unsigned answers;
    struct fetch_answer answer; /* the last one; not its body */
    struct buf body;
};

static void on_answer(void *arg, const struct fetch_answer *a)
{
    struct rig *r = arg;

    assert_false(r->on.calling);
    r->answers++;
    r->answer = *a;
    buf_append_str(&r->body, a->body);
    if (r->dispose)
        fetch_dispose(&r->fetch);
    loop_stop(r->on.loop);
}

/* Refuses an "l". */
static enum err_kind take(void *arg, const char *data, size_t n, struct err *err)
{
    struct rig *r = arg;

    buf_append(&r->taken, data, n);
    if (memchr(data, 'l', n) != NULL)
        return err_set(err, ERR_PROTOCOL, 0, "there is an l");
    return ERR_OK;
}

static void set_up(struct rig *r, const struct server_step *script, struct fetch_params p)
{
    *r = (struct rig){0};
    r->server = server_start_two(script, NULL, NULL);
    client_probe_init(&r->on, "http", server_port(r->server), 1);
    p.request.target = "/x";
    r->on.calling = true;
    r->fetch = fetch_start(r->on.loop, r->on.client, &p, on_answer, r);
    r->on.calling = false;
}

static void tear_down(struct rig *r)
{
    fetch_dispose(&r->fetch);
    assert_null(r->fetch);
    client_probe_fini(&r->on); /* fails if a handle leaked */
    server_stop(&r->server);
    buf_free(&r->taken);
    buf_free(&r->body);
}

/* The fetch of at most 5 bytes ends with this outcome and error (a part of its text). */
static void expect(const struct server_step *script, enum fetch_outcome outcome, enum err_kind kind,
                   const char *text)
{
    struct rig r;

    set_up(&r, script, (struct fetch_params){.max_bytes = 5});
    loop_run(r.on.loop);
    assert_int_equal(r.answers, 1);
    assert_int_equal(r.answer.outcome, outcome);
    assert_int_equal(r.answer.err.kind, kind);
    if (outcome == FETCH_GOOD)
        assert_string_equal(buf_cstr(&r.body), text);
    else
        assert_non_null(strstr(r.answer.err.text, text));
    tear_down(&r);
}

static void test_outcomes(void **state)
{
    (void)state;
    expect(hello, FETCH_GOOD, ERR_OK, "hello");
    expect(empty, FETCH_GOOD, ERR_OK, "");
    expect(cut, FETCH_FAILED, ERR_CLOSED, "in the middle of its response");
    expect(missing, FETCH_REFUSED, ERR_NOT_FOUND, "404");
    expect(cut_missing, FETCH_FAILED, ERR_CLOSED, "in the middle of its response");
    expect(busy, FETCH_REFUSED, ERR_BUSY, "slow down");
    expect(endless, FETCH_REFUSED, ERR_SERVER, "500");
}

/* Only the answer to a POST has a status 201 that is good. */
static void test_a_post_creates_its_answer(void **state)
{
    const struct fetch_params post = {.request = {.post = "{\"a\":1}"}, .max_bytes = 5};
    struct rig r;

    (void)state;
    expect(created, FETCH_REFUSED, ERR_SERVER, "201");
    set_up(&r, created, post);
    loop_run(r.on.loop);
    assert_int_equal(r.answer.outcome, FETCH_GOOD);
    assert_string_equal(buf_cstr(&r.body), "hello");
    assert_memory_equal(server_request(r.server, 0), "POST /pre/x ", 12);
    assert_non_null(strstr(server_request(r.server, 0), "\r\nContent-Length: 7\r\n"));
    tear_down(&r);
}

/* A POST of this client changes nothing on the server. */
static void test_a_post_on_a_stale_connection_is_repeated(void **state)
{
    const struct fetch_params post = {
        .request = {.target = "/x", .post = "{}"},
          .max_bytes = 5
    };
    struct rig r = {.server = server_start_two(created_once, created, NULL)};

    (void)state;
    client_probe_init(&r.on, "http", server_port(r.server), 1);
    for (unsigned i = 1; i <= 2; i++) {
        r.fetch = fetch_start(r.on.loop, r.on.client, &post, on_answer, &r);
        loop_run(r.on.loop);
        assert_int_equal(r.answers, i);
        assert_int_equal(r.answer.outcome, FETCH_GOOD);
        fetch_dispose(&r.fetch);
    }
    assert_int_equal(server_connections(r.server), 2);
    tear_down(&r);
}

static void test_a_good_body_is_bounded(void **state)
{
    struct rig r;

    (void)state;
    set_up(&r, hello, (struct fetch_params){.max_bytes = 4});
    loop_run(r.on.loop);
    assert_int_equal(r.answer.outcome, FETCH_FAILED);
    assert_int_equal(r.answer.err.kind, ERR_TOO_BIG);
    assert_string_equal(r.answer.err.text, "the answer is larger than 4 bytes");
    tear_down(&r);
}

/* The longer one of header and Status counts. */
static void test_no_memory_for_an_answer(void **state)
{
    enum { BYTES = 200 * 1024 };
    struct buf text = {0};
    struct rig r;

    (void)state;
    buf_puts(&text, SERVER_OK_HEAD);
    for (int i = 0; i < BYTES; i++)
        buf_putc(&text, 'x');
    const struct server_step script[] = SERVER_SAYS(buf_cstr(&text), SERVER_CLOSE);
    set_up(&r, script, (struct fetch_params){.max_bytes = 2 * (size_t)BYTES});
    play_memory_fail(1, BYTES);
    loop_run(r.on.loop);
    play_memory_fail(0, 0);
    assert_true(r.answers == 1 && r.answer.outcome == FETCH_FAILED);
    assert_int_equal(r.answer.err.kind, ERR_TOO_BIG);
    assert_non_null(strstr(r.answer.err.text, "there is no memory for an answer"));
    tear_down(&r);
    buf_free(&text);
}

static void test_how_long_the_server_wants_to_be_left_alone(void **state)
{
    static const struct server_step *const scripts[] = {busy, very_busy};
    static const int wanted_s[] = {7, 9};
    struct rig r;

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        set_up(&r, scripts[i], (struct fetch_params){0});
        loop_run(r.on.loop);
        assert_int_equal(r.answer.err.kind, ERR_BUSY);
        assert_int_equal(r.answer.retry_after_s, wanted_s[i]);
        tear_down(&r);
    }
}

/* on_body gets the bodies of good answers only, and decides about them. */
static void test_somebody_else_takes_the_body(void **state)
{
    struct rig r;

    (void)state;
    set_up(&r, hello, (struct fetch_params){.on_body = take});
    loop_run(r.on.loop);
    assert_int_equal(r.answer.outcome, FETCH_FAILED);
    assert_string_equal(r.answer.err.text, "there is an l");
    assert_int_equal(r.body.len, 0);
    tear_down(&r);
    set_up(&r, busy, (struct fetch_params){.on_body = take});
    loop_run(r.on.loop);
    assert_int_equal(r.answer.outcome, FETCH_REFUSED);
    assert_int_equal(r.taken.len, 0);
    tear_down(&r);
}

static bool has_asked(void *arg)
{
    const struct rig *r = arg;

    return server_requests(r->server) > 0;
}

static void test_an_answer_that_does_not_come(void **state)
{
    struct rig r;

    (void)state;
    set_up(&r, hold, (struct fetch_params){.timeout_ms = TIMEOUT_MS});
    loop_until(r.on.loop, has_asked, &r);
    play_clock_pass(TIMEOUT_MS - 1);
    loop_turns(r.on.loop, 1);
    assert_int_equal(r.answers, 0);
    play_clock_pass(1);
    loop_run(r.on.loop);
    assert_int_equal(r.answer.outcome, FETCH_FAILED);
    assert_int_equal(r.answer.err.kind, ERR_TIMEOUT);
    assert_string_equal(r.answer.err.text, "no answer within 10 s");
    tear_down(&r);
}

static void test_an_answer_is_reported_once(void **state)
{
    struct rig r;

    (void)state;
    set_up(&r, hello, (struct fetch_params){.timeout_ms = TIMEOUT_MS, .max_bytes = 5});
    loop_run(r.on.loop);
    play_clock_pass(TIMEOUT_MS);
    loop_turns(r.on.loop, 2);
    assert_int_equal(r.answers, 1);
    assert_int_equal(r.answer.outcome, FETCH_GOOD);
    tear_down(&r);
}

static void test_dispose_in_the_callback(void **state)
{
    static const struct server_step *const scripts[] = {hello, missing, cut, endless};
    struct rig r;

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        set_up(&r, scripts[i], (struct fetch_params){.max_bytes = 100});
        r.dispose = true;
        loop_run(r.on.loop);
        assert_int_equal(r.answers, 1);
        assert_null(r.fetch);
        tear_down(&r);
    }
}

static void test_dispose_under_way(void **state)
{
    struct rig r;

    (void)state;
    set_up(&r, hold, (struct fetch_params){.timeout_ms = TIMEOUT_MS});
    loop_until(r.on.loop, has_asked, &r);
    fetch_dispose(&r.fetch);
    play_clock_pass(TIMEOUT_MS);
    loop_turns(r.on.loop, 2);
    assert_int_equal(r.answers, 0);
    tear_down(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_outcomes),
        cmocka_unit_test(test_a_post_creates_its_answer),
        cmocka_unit_test(test_a_post_on_a_stale_connection_is_repeated),
        cmocka_unit_test(test_a_good_body_is_bounded),
        cmocka_unit_test(test_no_memory_for_an_answer),
        cmocka_unit_test(test_how_long_the_server_wants_to_be_left_alone),
        cmocka_unit_test(test_somebody_else_takes_the_body),
        cmocka_unit_test(test_an_answer_that_does_not_come),
        cmocka_unit_test(test_an_answer_is_reported_once),
        cmocka_unit_test(test_dispose_in_the_callback),
        cmocka_unit_test(test_dispose_under_way),
    };

    play_clock_stop();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
