/* SPDX-License-Identifier: Apache-2.0 */
/* io/api_client: streaming lists hold their place in the list gate until their initial events are
 * complete. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "campaign.h"
#include "io/deadline.h"
#include "io/loop.h"
#include "play_clock.h"
#include "request_probe.h"
#include "server.h"

#define HEAD "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

static const struct server_step streams[] = {
    {SERVER_READ, NULL                 },
    {SERVER_SEND, HEAD "5\r\nhello\r\n"},
    {SERVER_HOLD, NULL                 }
};
static const struct server_step streams_until[] = {
    {SERVER_READ,  NULL                 },
    {SERVER_SEND,  HEAD "5\r\nhello\r\n"},
    {SERVER_WAIT,  NULL                 },
    {SERVER_CLOSE, NULL                 }
};
static const struct server_step refuses[] = {
    {SERVER_READ,  NULL},
    {SERVER_WAIT,  NULL},
    {SERVER_RESET, NULL}
};
static const struct server_step holds[] = {
    {SERVER_READ, NULL},
    {SERVER_HOLD, NULL}
};
static const struct server_step answers[] = {
    {SERVER_READ,  NULL                                               },
    {SERVER_SEND,  "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"},
    {SERVER_AGAIN, NULL                                               }
};

#define LONG "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n"

enum { PIECES = 8 };

/* The script of a body that comes piece by piece, each after a server_go(): SEND a byte, or
 * FLOOD. */
static const struct server_step *piecewise(enum server_do piece)
{
    static struct server_step v[2 * PIECES + 3];

    v[0] = (struct server_step){SERVER_READ, NULL};
    v[1] = (struct server_step){SERVER_SEND, LONG};
    for (size_t i = 0; i < PIECES; i++) {
        v[2 * i + 2] = (struct server_step){SERVER_WAIT, NULL};
        v[2 * i + 3] = (struct server_step){piece, "x"};
    }
    v[2 * PIECES + 2] = (struct server_step){SERVER_HOLD, NULL};
    return v;
}

/* The requests of the rigs below. */
enum { STREAM, LIST, MORE, WATCH };

struct rig {
    struct client_probe p;
    struct server *s;
    struct deadline *poll;
    bool (*is_true)(struct rig *r, const char *what);
    const char *what;
    struct request_probe *of; /* the request whose body is counted */
    size_t bytes;             /* so many bytes its body must have */
};

static void on_poll(void *arg)
{
    struct rig *r = arg;

    if (r->is_true(r, r->what))
        loop_stop(r->p.loop);
    else
        deadline_start(r->poll, 1);
}

static void run_until(struct rig *r, bool (*is_true)(struct rig *r, const char *what),
                      const char *what)
{
    r->is_true = is_true;
    r->what = what;
    deadline_start(r->poll, 1);
    loop_run(r->p.loop);
}

/* A gate of one place; the scripts are those of the connections, in their order. */
static void set_up(struct rig *r, const struct server_step *const *scripts)
{
    r->s = server_start(&(struct server_params){.scripts = scripts});
    client_probe_init(&r->p, "http", server_port(r->s), 1);
    r->poll = deadline_create(r->p.loop, on_poll, r);
}

static void tear_down(struct rig *r)
{
    deadline_dispose(&r->poll);
    client_probe_fini(&r->p);
    server_stop(&r->s);
}

/* Long enough for a list to start if it may: a watch is asked for and answered. */
static void pass_time(struct rig *r)
{
    client_probe_do(&r->p, WATCH, false, "/watch");
    assert_true(r->p.rq[WATCH].complete);
}

static bool was_asked(struct rig *r, const char *target)
{
    for (unsigned i = 0; i < server_requests(r->s); i++)
        if (strstr(server_request(r->s, i), target) != NULL)
            return true;
    return false;
}

static void begin_stream(struct rig *r)
{
    client_probe_stream(&r->p, STREAM, "/stream");
    run_until(r, was_asked, "/stream");
}

static bool has_body(struct rig *r, const char *what)
{
    (void)what;
    return r->p.rq[STREAM].body.len > 0;
}

static bool has_ended(struct rig *r, const char *what)
{
    (void)what;
    return r->p.rq[STREAM].ends > 0;
}

static void assert_waits(struct rig *r, unsigned i, const char *target)
{
    client_probe_start(&r->p, i, true, target);
    for (unsigned n = 0; n < 3; n++)
        pass_time(r);
    assert_false(was_asked(r, target));
    assert_int_equal(r->p.rq[i].ends, 0);
}

static void assert_listed(struct rig *r, unsigned i)
{
    while (r->p.rq[i].ends == 0)
        client_probe_run(&r->p, 1);
    assert_true(r->p.rq[i].complete);
}

static void test_a_streaming_list_holds_a_place_until_it_leaves(void **state)
{
    static const struct server_step *const scripts[] = {streams, answers, NULL};
    struct rig r;

    (void)state;
    set_up(&r, scripts);
    begin_stream(&r);
    run_until(&r, has_body, NULL);
    assert_waits(&r, LIST, "/list");
    request_leave_gate(r.p.rq[STREAM].r);
    assert_listed(&r, LIST);
    assert_int_equal(r.p.rq[STREAM].ends, 0);
    tear_down(&r);
}

static void test_a_streaming_list_waits_for_a_place(void **state)
{
    static const struct server_step *const scripts[] = {holds, answers, NULL};
    struct rig r;

    (void)state;
    set_up(&r, scripts);
    client_probe_start(&r.p, LIST, true, "/list");
    run_until(&r, was_asked, "/list");
    client_probe_stream(&r.p, STREAM, "/stream");
    for (unsigned n = 0; n < 3; n++)
        pass_time(&r);
    assert_false(was_asked(&r, "/stream"));
    request_leave_gate(r.p.rq[STREAM].r); /* the streaming list has no place yet */
    pass_time(&r);
    assert_false(was_asked(&r, "/stream"));
    request_dispose(&r.p.rq[LIST].r);
    assert_listed(&r, STREAM);
    tear_down(&r);
}

/* A place that was given back already is not given back a second time: a list holds it now. */
static void leave_then(struct rig *r, void (*end)(struct rig *r))
{
    begin_stream(r);
    run_until(r, has_body, NULL);
    request_leave_gate(r->p.rq[STREAM].r);
    client_probe_start(&r->p, LIST, true, "/list");
    run_until(r, was_asked, "/list");
    end(r);
    assert_waits(r, MORE, "/more");
    request_dispose(&r->p.rq[LIST].r);
    assert_listed(r, MORE);
}

static void leave_again(struct rig *r)
{
    request_leave_gate(r->p.rq[STREAM].r);
}

static void dispose(struct rig *r)
{
    request_dispose(&r->p.rq[STREAM].r);
}

static void break_off(struct rig *r)
{
    server_go(r->s);
    run_until(r, has_ended, NULL);
    assert_false(r->p.rq[STREAM].complete);
    request_leave_gate(r->p.rq[STREAM].r);
}

static void test_a_place_is_given_back_once(void **state)
{
    static const struct server_step *const scripts[] = {streams_until, holds, answers, NULL};
    static void (*const ends[])(struct rig * r) = {leave_again, dispose, break_off};
    struct rig r;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
        set_up(&r, scripts);
        leave_then(&r, ends[i]);
        tear_down(&r);
    }
}

static void lost_then_list(const struct server_step *first, bool with_body)
{
    const struct server_step *scripts[] = {first, answers, NULL};
    struct rig r;

    set_up(&r, scripts);
    begin_stream(&r);
    if (with_body)
        run_until(&r, has_body, NULL);
    assert_waits(&r, LIST, "/list");
    server_go(r.s);
    assert_listed(&r, LIST);
    assert_int_equal(r.p.rq[STREAM].ends, 1);
    assert_false(r.p.rq[STREAM].complete);
    request_leave_gate(r.p.rq[STREAM].r);
    client_probe_start(&r.p, MORE, true, "/more");
    assert_listed(&r, MORE);
    tear_down(&r);
}

static void test_a_streaming_list_that_fails_gives_its_place_back(void **state)
{
    (void)state;
    lost_then_list(refuses, false);
    lost_then_list(streams_until, true);
}

static void test_dispose_gives_the_place_back(void **state)
{
    static const struct server_step *const scripts[] = {streams, answers, NULL};
    struct rig r;

    (void)state;
    set_up(&r, scripts);
    begin_stream(&r);
    assert_waits(&r, LIST, "/list");
    request_dispose(&r.p.rq[STREAM].r);
    assert_listed(&r, LIST);
    tear_down(&r);
}

static void test_leaving_when_the_cluster_is_gone(void **state)
{
    static const struct server_step *const scripts[] = {streams, answers, NULL};
    struct rig r;

    (void)state;
    set_up(&r, scripts);
    begin_stream(&r);
    api_client_dispose(&r.p.client);
    request_leave_gate(r.p.rq[STREAM].r);
    loop_run(r.p.loop);
    tear_down(&r);
}

static bool has_so_much(struct rig *r, const char *what)
{
    (void)what;
    return r->of->body.len >= r->bytes || r->of->ends > 0;
}

static bool has_head(struct rig *r, const char *what)
{
    (void)what;
    return r->of->heads > 0;
}

/* A piece of n bytes every 10 s. Returns how many pieces came before the request ended. */
static unsigned take_pieces(struct rig *r, unsigned who, size_t n)
{
    unsigned pieces = 0;

    r->of = &r->p.rq[who];
    run_until(r, has_head, NULL);
    while (pieces < PIECES && r->of->ends == 0) {
        r->bytes = ++pieces * n;
        play_clock_pass(10000);
        server_go(r->s);
        run_until(r, has_so_much, NULL);
    }
    return pieces;
}

static void assert_given_up(struct rig *r, unsigned who)
{
    assert_int_equal(take_pieces(r, who, 1), 6); /* a minute */
    assert_int_equal(r->p.rq[who].ends, 1);
    assert_int_equal(r->p.rq[who].err.kind, ERR_TIMEOUT);
    assert_non_null(strstr(r->p.rq[who].err.text, "too slowly"));
}

static void test_a_list_that_drips_is_given_up_and_gives_its_place_back(void **state)
{
    const struct server_step *const scripts[] = {piecewise(SERVER_SEND), answers, NULL};
    struct rig r;

    (void)state;
    set_up(&r, scripts);
    client_probe_start(&r.p, LIST, true, "/list");
    run_until(&r, was_asked, "/list");
    assert_waits(&r, MORE, "/more");
    assert_given_up(&r, LIST);
    /* the list that was given up waits for its next try, without a place */
    assert_listed(&r, MORE);
    tear_down(&r);
}

static void test_a_streaming_list_that_drips_in_its_place_is_given_up(void **state)
{
    const struct server_step *const scripts[] = {piecewise(SERVER_SEND), answers, NULL};
    struct rig r;

    (void)state;
    set_up(&r, scripts);
    begin_stream(&r);
    assert_given_up(&r, STREAM);
    client_probe_start(&r.p, LIST, true, "/list");
    assert_listed(&r, LIST);
    tear_down(&r);
}

static void test_a_streaming_list_that_has_left_may_drip(void **state)
{
    const struct server_step *const scripts[] = {piecewise(SERVER_SEND), NULL};
    struct rig r;

    (void)state;
    set_up(&r, scripts);
    begin_stream(&r);
    request_leave_gate(r.p.rq[STREAM].r);
    assert_int_equal(take_pieces(&r, STREAM, 1), PIECES);
    assert_int_equal(r.p.rq[STREAM].ends, 0);
    tear_down(&r);
}

static void test_a_slow_link_may_list(void **state)
{
    const struct server_step *const scripts[] = {piecewise(SERVER_FLOOD), NULL};
    struct rig r;

    (void)state;
    set_up(&r, scripts);
    client_probe_start(&r.p, LIST, true, "/list");
    assert_int_equal(take_pieces(&r, LIST, 65536), PIECES);
    assert_int_equal(r.p.rq[LIST].ends, 0);
    tear_down(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_streaming_list_holds_a_place_until_it_leaves),
        cmocka_unit_test(test_a_streaming_list_waits_for_a_place),
        cmocka_unit_test(test_a_place_is_given_back_once),
        cmocka_unit_test(test_a_streaming_list_that_fails_gives_its_place_back),
        cmocka_unit_test(test_dispose_gives_the_place_back),
        cmocka_unit_test(test_leaving_when_the_cluster_is_gone),
        cmocka_unit_test(test_a_list_that_drips_is_given_up_and_gives_its_place_back),
        cmocka_unit_test(test_a_streaming_list_that_drips_in_its_place_is_given_up),
        cmocka_unit_test(test_a_streaming_list_that_has_left_may_drip),
        cmocka_unit_test(test_a_slow_link_may_list),
    };

    alarm(PATIENCE_S);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
