/* SPDX-License-Identifier: Apache-2.0 */
/* io/api_client with several servers: which failures send a request to the next one, what on_end
 * says when none is left, and servers that lag. The servers are of tiers 1, 2, 3, so each request
 * tries them in this order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "campaign.h"
#include "io/loop.h"
#include "io/server_identity.h"
#include "io_probe.h"
#include "kube/servers.h"
#include "loop_until.h"
#include "play_clock.h"
#include "proto/tls.h"
#include "request_probe.h"
#include "server.h"
#include "tls_pair.h"

enum { A, B, C, SERVERS, N = 16, CONNECT_MS = 60000 };

#define CHUNKED "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"
#define IDENTITY(uid, rv)                                                        \
    SERVER_OK_HEAD "{\"metadata\":{\"resourceVersion\":\"" rv "\"},\"items\":[{" \
                   "\"metadata\":{\"name\":\"kube-system\",\"uid\":\"" uid "\"}}]}"
#define REFUSAL                                                                        \
    "HTTP/1.1 500 Oops\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n" \
    "{\"kind\":\"Status\",\"code\":500,\"message\":\"etcdserver: leader changed\"}"

static const struct server_step hangs_up[] = {
    {SERVER_READ,  NULL},
    {SERVER_RESET, NULL}
};
static const struct server_step silent[] = SERVER_SAYS("", SERVER_HOLD);
static const struct server_step unavailable[] =
    SERVER_SAYS(SERVER_EMPTY("503 Service Unavailable"), SERVER_CLOSE);
static const struct server_step refusal[] = SERVER_SAYS(REFUSAL, SERVER_CLOSE);
static const struct server_step unauthorized[] =
    SERVER_SAYS(SERVER_EMPTY("401 Unauthorized"), SERVER_CLOSE);
static const struct server_step busy[] = SERVER_SAYS(
    "HTTP/1.1 503 Busy\r\nRetry-After: 7\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
    SERVER_CLOSE);
static const struct server_step breaks[] = {
    {SERVER_READ,  NULL   },
    {SERVER_SEND,  CHUNKED},
    {SERVER_WAIT,  NULL   },
    {SERVER_RESET, NULL   }
};
static const struct server_step at_5[] = SERVER_SAYS(IDENTITY("u-1", "5"), SERVER_CLOSE);
static const struct server_step at_9[] = SERVER_SAYS(IDENTITY("u-1", "9"), SERVER_CLOSE);
static const struct server_step foreign[] = SERVER_SAYS(IDENTITY("u-2", "9"), SERVER_CLOSE);

struct rig {
    struct client_probe probe;
    struct server *servers[SERVERS]; /* NULL = nobody listens there */
    int fds[SERVERS][3];             /* that keep a port without a server */
    size_t n;
    bool (*is_true)(const struct rig *r);
    unsigned judged;
};

static bool judge(void *arg, const struct cluster_identity_answer *answer, int status,
                  struct err *err)
{
    struct rig *r = arg;

    (void)status;
    r->judged++;
    if (strcmp(answer->id.uid, "u-2") != 0)
        return true;
    err_set(err, ERR_FOREIGN, 0, "another cluster");
    return false;
}

/* A client of servers with these ports; asks: they must say which cluster they are. */
static void make_client(struct rig *r, const char *scheme, const uint16_t *ports, bool asks)
{
    static const unsigned tiers[SERVERS] = {1, 2, 3};
    char text[SERVERS][64];
    const char *urls[SERVERS];

    api_client_dispose(&r->probe.client);
    for (size_t i = 0; i < r->n; i++) {
        (void)snprintf(text[i], sizeof(text[i]), "%s://127.0.0.1:%u", scheme, (unsigned)ports[i]);
        urls[i] = text[i];
    }
    r->probe.params.connect_timeout_ms = CONNECT_MS;
    r->probe.params.judge = asks ? judge : NULL;
    r->probe.params.judge_arg = r;
    client_probe_make_many(&r->probe, urls, tiers, r->n);
}

/* The servers follow these scripts, each connection from the begin. NULL = nobody listens. The list
 * ends with a NULL behind n entries. */
static void set_up(struct rig *r, const struct server_step *const *scripts, size_t n, bool asks)
{
    uint16_t ports[SERVERS] = {0};

    *r = (struct rig){.n = n};
    for (size_t i = 0; i < n; i++) {
        r->fds[i][0] = -1;
        if (scripts[i] == NULL) {
            ports[i] = server_refusing_port(&r->fds[i][0]);
        } else {
            r->servers[i] = server_start_two(scripts[i], NULL, NULL);
            ports[i] = server_port(r->servers[i]);
        }
    }
    client_probe_init(&r->probe, "http", 1, 4);
    make_client(r, "http", ports, asks);
}

static void tear_down(struct rig *r)
{
    client_probe_fini(&r->probe);
    for (size_t i = 0; i < r->n; i++) {
        if (r->servers[i] != NULL)
            server_stop(&r->servers[i]);
        if (r->fds[i][0] >= 0)
            close(r->fds[i][0]);
    }
}

static enum server_state state_of(const struct rig *r, size_t i)
{
    return api_client_servers(r->probe.client)->v[i].state;
}

static size_t in_use(const struct rig *r)
{
    return api_client_servers(r->probe.client)->in_use;
}

static unsigned requests(const struct rig *r, size_t i)
{
    return server_requests(r->servers[i]);
}

static void assert_ok(const struct rig *r, unsigned i)
{
    assert_int_equal(r->probe.rq[i].ends, 1);
    if (!r->probe.rq[i].complete)
        fail_msg("%s", r->probe.rq[i].err.text);
    assert_int_equal(r->probe.rq[i].heads, 1);
    assert_int_equal(r->probe.rq[i].status, 200);
}

/* Server A follows the script, B is well: the request ends well, and A counts as failed. */
static void goes_to_the_next(const struct server_step *script)
{
    struct rig r;

    set_up(&r, (const struct server_step *const[]){script, server_hello}, 2, false);
    client_probe_do(&r.probe, 0, true, "/list");
    assert_ok(&r, 0);
    assert_int_equal(state_of(&r, A), SERVER_FAILED);
    assert_int_equal(state_of(&r, B), SERVER_GOOD);
    assert_int_equal(in_use(&r), B);
    client_probe_do(&r.probe, 1, false, "/watch"); /* to B at once */
    assert_ok(&r, 1);
    assert_int_equal(requests(&r, B), 2);
    if (script != NULL)
        assert_int_equal(requests(&r, A), 1);
    tear_down(&r);
}

static void test_a_refused_connection(void **state)
{
    (void)state;
    goes_to_the_next(NULL);
}

static void test_a_connection_that_ends_before_the_head(void **state)
{
    (void)state;
    goes_to_the_next(hangs_up);
}

static void test_a_5xx(void **state)
{
    (void)state;
    goes_to_the_next(unavailable);
    goes_to_the_next(refusal);
}

/* It cannot reach the webhook that checks tokens, or has another CA for clients. */
static void test_a_401(void **state)
{
    (void)state;
    goes_to_the_next(unauthorized);
}

/* The credential is bad, and its owner hears of it. */
static void test_a_401_of_all_servers_blames_none_of_them(void **state)
{
    const struct server_step *const scripts[] = {unauthorized, unauthorized};
    struct rig r;

    (void)state;
    set_up(&r, scripts, 2, false);
    client_probe_do(&r.probe, 0, true, "/list");
    assert_int_equal(r.probe.rq[0].err.kind, ERR_UNAUTHORIZED);
    assert_int_equal(r.probe.rq[0].err.code, 401);
    assert_int_equal(state_of(&r, A), SERVER_UNTRIED);
    assert_int_equal(state_of(&r, B), SERVER_UNTRIED);
    tear_down(&r);
}

static bool is_connecting_elsewhere(const struct rig *r)
{
    return r->probe.rq[0].ends > 0 || state_of(r, A) == SERVER_FAILED;
}

static bool look(void *arg)
{
    const struct rig *r = arg;

    return r->is_true(r);
}

static void run_until(struct rig *r, bool (*is_true)(const struct rig *r))
{
    r->is_true = is_true;
    loop_until(r->probe.loop, look, r);
}

/* One of two servers gets half of connect_timeout. */
static void test_a_connect_that_is_never_answered(void **state)
{
    struct rig r;
    uint16_t ports[SERVERS] = {0};

    (void)state;
    set_up(&r, (const struct server_step *const[]){server_hello, server_hello}, 2, false);
    ports[A] = server_dead_port("127.0.0.1", 0, r.fds[A]);
    ports[B] = server_port(r.servers[B]);
    make_client(&r, "http", ports, false);
    client_probe_start(&r.probe, 0, true, "/list");
    loop_turns(r.probe.loop, 20);
    assert_int_equal(state_of(&r, A), SERVER_UNTRIED);
    play_clock_pass(CONNECT_MS / 2);
    run_until(&r, is_connecting_elsewhere);
    assert_int_equal(r.probe.rq[0].ends, 0);
    client_probe_run(&r.probe, 1);
    assert_ok(&r, 0);
    tear_down(&r);
    close(r.fds[A][1]);
    close(r.fds[A][2]);
}

static bool has_sent_to_a(const struct rig *r)
{
    return requests(r, A) > 0;
}

static void test_a_head_that_does_not_come(void **state)
{
    struct rig r;

    (void)state;
    set_up(&r, (const struct server_step *const[]){silent, server_hello}, 2, false);
    client_probe_start(&r.probe, 0, false, "/watch");
    run_until(&r, has_sent_to_a);
    assert_int_equal(r.probe.rq[0].ends, 0);
    play_clock_pass(CLIENT_PROBE_TIMEOUT_MS);
    client_probe_run(&r.probe, 1);
    assert_ok(&r, 0);
    assert_int_equal(state_of(&r, A), SERVER_FAILED);
    tear_down(&r);
}

/* The server asks for patience: another one would only be the next to be overrun. */
static void test_a_5xx_with_retry_after_is_an_answer(void **state)
{
    struct rig r;

    (void)state;
    set_up(&r, (const struct server_step *const[]){busy, server_hello}, 2, false);
    client_probe_do(&r.probe, 0, true, "/list");
    assert_true(r.probe.rq[0].complete);
    assert_int_equal(r.probe.rq[0].status, 503);
    assert_int_equal(requests(&r, B), 0);
    assert_int_equal(state_of(&r, A), SERVER_GOOD);
    tear_down(&r);
}

static void test_a_5xx_of_a_single_server_is_an_answer(void **state)
{
    struct rig r;

    (void)state;
    set_up(&r, (const struct server_step *const[]){refusal}, 1, false);
    client_probe_do(&r.probe, 0, true, "/list");
    assert_true(r.probe.rq[0].complete);
    assert_int_equal(r.probe.rq[0].status, 500);
    tear_down(&r);
}

/* For example for an aggregated API whose server is away. */
static void test_a_request_that_all_refuse_blames_no_server(void **state)
{
    struct rig r;
    char want[320];

    (void)state;
    set_up(&r, (const struct server_step *const[]){unavailable, unavailable, refusal}, 3, false);
    client_probe_do(&r.probe, 0, true, "/list");
    assert_int_equal(r.probe.rq[0].ends, 1);
    assert_int_equal(r.probe.rq[0].heads, 0);
    assert_int_equal(r.probe.rq[0].err.kind, ERR_SERVER);
    (void)snprintf(want, sizeof(want),
                   "3 servers were tried: 127.0.0.1:%u: status 503; 127.0.0.1:%u: status 503; "
                   "127.0.0.1:%u: server says 500: etcdserver: leader changed",
                   (unsigned)server_port(r.servers[A]), (unsigned)server_port(r.servers[B]),
                   (unsigned)server_port(r.servers[C]));
    assert_string_equal(r.probe.rq[0].err.text, want);
    for (size_t i = A; i <= C; i++) {
        assert_int_equal(requests(&r, i), 1);
        assert_int_equal(state_of(&r, i), SERVER_UNTRIED);
    }
    tear_down(&r);
}

static void test_when_all_fail_the_error_names_all(void **state)
{
    struct rig r;

    (void)state;
    set_up(&r, (const struct server_step *const[]){NULL, hangs_up, NULL}, 3, false);
    for (unsigned i = 0; i < 3; i++)
        client_probe_start(&r.probe, i, i == 0, "/x");
    client_probe_run(&r.probe, 3);
    for (unsigned i = 0; i < 3; i++) {
        const char *text = r.probe.rq[i].err.text;

        assert_int_equal(r.probe.rq[i].ends, 1);
        assert_int_equal(r.probe.rq[i].err.kind, ERR_REFUSED);
        assert_ptr_equal(strstr(text, "3 servers were tried: 127.0.0.1:"), text);
        assert_non_null(strstr(text, "refused; 127.0.0.1:"));
        assert_int_equal(request_others(r.probe.rq[i].r), 0);
    }
    assert_int_equal(requests(&r, B), 3);
    tear_down(&r);
}

static bool has_head(const struct rig *r)
{
    return r->probe.rq[0].heads > 0;
}

/* The response has begun, so nobody else can finish it. But later requests leave the server. */
static void test_a_response_that_breaks_off(void **state)
{
    struct rig r;

    (void)state;
    set_up(&r, (const struct server_step *const[]){breaks, server_hello, server_hello}, 3, false);
    client_probe_start(&r.probe, 0, false, "/watch");
    run_until(&r, has_head);
    assert_int_equal(in_use(&r), A);
    assert_int_equal(request_others(r.probe.rq[0].r), 0);
    server_go(r.servers[A]);
    client_probe_run(&r.probe, 1);
    assert_false(r.probe.rq[0].complete);
    assert_int_equal(request_others(r.probe.rq[0].r), 2);
    assert_int_equal(state_of(&r, A), SERVER_FAILED);
    client_probe_do(&r.probe, 1, false, "/watch");
    assert_ok(&r, 1);
    assert_int_equal(requests(&r, A), 1);
    assert_int_equal(in_use(&r), B);
    tear_down(&r);
}

static void test_a_server_that_the_user_blames(void **state)
{
    static const struct err why = {.kind = ERR_TIMEOUT, .text = "it was silent"};
    struct rig r;

    (void)state;
    set_up(&r, (const struct server_step *const[]){breaks, server_hello}, 2, false);
    client_probe_start(&r.probe, 0, false, "/watch");
    run_until(&r, has_head);
    request_blame(r.probe.rq[0].r, &why);
    assert_int_equal(request_others(r.probe.rq[0].r), 1);
    request_dispose(&r.probe.rq[0].r);
    client_probe_do(&r.probe, 1, false, "/watch");
    assert_ok(&r, 1);
    assert_int_equal(requests(&r, B), 1);
    tear_down(&r);
}

/* ---- TLS. */

static void start_all(struct rig *r)
{
    for (unsigned i = 0; i < N; i++)
        client_probe_start(&r->probe, i, false, "/watch");
    for (unsigned i = 0; i < N; i++)
        server_go(r->servers[B]);
    client_probe_run(&r->probe, N);
    for (unsigned i = 0; i < N; i++)
        assert_ok(r, i);
}

/* A has another CA's certificate. One connection finds that out for all requests. */
static void test_a_server_that_cannot_be_verified(void **state)
{
    struct io_tls trusted;
    struct io_tls other;
    struct rig r = {
        .n = 2, .fds = {{-1}, {-1}}
    };

    (void)state;
    io_tls_init(&trusted, TLS_PEER_ALL);
    io_tls_init(&other, TLS_PEER_ALL);
    r.servers[A] = server_start_two(server_hello_later, NULL, &other.server);
    r.servers[B] = server_start_two(server_hello_later, NULL, &trusted.server);
    client_probe_init(&r.probe, "https", 1, 4);
    make_client(&r, "https",
                (const uint16_t[]){server_port(r.servers[A]), server_port(r.servers[B])}, false);
    client_probe_set_tls(&r.probe, trusted.ctx);
    start_all(&r);
    assert_int_equal(server_accepted(r.servers[A]), 1);
    assert_int_equal(state_of(&r, A), SERVER_FAILED);
    assert_int_equal(api_client_servers(r.probe.client)->v[A].err.kind, ERR_TLS);
    for (unsigned i = 0; i < N; i++) /* one full handshake with B, the others resume */
        assert_int_equal(request_peer(r.probe.rq[i].r), request_peer(r.probe.rq[0].r));
    tear_down(&r);
    io_tls_fini(&other);
    io_tls_fini(&trusted);
}

/* Each server has credentials of its own. */
static void test_a_server_without_certificates(void **state)
{
    struct io_tls t;
    struct rig r = {
        .n = 2, .fds = {{-1}, {-1}}
    };

    (void)state;
    io_tls_init(&t, TLS_PEER_ALL);
    for (size_t i = A; i <= B; i++)
        r.servers[i] = server_start_two(server_hello, NULL, &t.server);
    client_probe_init(&r.probe, "https", 1, 4);
    make_client(&r, "https",
                (const uint16_t[]){server_port(r.servers[A]), server_port(r.servers[B])}, false);
    api_client_set_tls(r.probe.client, B, t.ctx);
    api_client_set_authorization(r.probe.client, A, "Bearer a");
    api_client_set_authorization(r.probe.client, B, "Bearer b");
    client_probe_do(&r.probe, 0, true, "/list");
    assert_ok(&r, 0);
    assert_int_equal(server_accepted(r.servers[A]), 0);
    assert_non_null(strstr(server_request(r.servers[B], 0), "Bearer b\r\n"));
    api_client_set_tls(r.probe.client, A, t.ctx); /* its tier is better */
    client_probe_do(&r.probe, 1, true, "/list");
    assert_non_null(strstr(server_request(r.servers[A], 0), "Bearer a\r\n"));
    assert_int_equal(in_use(&r), A);
    tear_down(&r);
    io_tls_fini(&t);
}

/* ---- Which cluster is it, and is its state old? */

/* Answers the question, then the request, on two connections. */
static struct server *answers_twice(const struct server_step *question)
{
    return server_start_two(question, server_hello, NULL);
}

/* A, B, C answer the question by these scripts, and a request with "hello". */
static void set_up_asked(struct rig *r, const struct server_step *const *questions)
{
    uint16_t ports[SERVERS] = {0};

    *r = (struct rig){
        .n = SERVERS, .fds = {{-1}, {-1}, {-1}}
    };
    for (size_t i = 0; i < SERVERS; i++) {
        r->servers[i] = answers_twice(questions[i]);
        ports[i] = server_port(r->servers[i]);
    }
    client_probe_init(&r->probe, "http", 1, 4);
    make_client(r, "http", ports, true);
}

static void test_a_server_that_lags_behind(void **state)
{
    struct rig r;

    (void)state;
    set_up_asked(&r, (const struct server_step *const[]){at_5, at_9, at_9});
    client_probe_follow(&r.probe, 0, 8);
    client_probe_run(&r.probe, 1);
    assert_ok(&r, 0);
    assert_string_equal(r.probe.rq[0].revisions, "5 9 ");
    assert_int_equal(requests(&r, A), 1); /* the question alone */
    assert_int_equal(requests(&r, B), 2);
    assert_int_equal(state_of(&r, A), SERVER_LAGS);
    assert_non_null(strstr(api_client_servers(r.probe.client)->v[A].err.text, "revision 5 only"));
    assert_int_equal(in_use(&r), B);
    tear_down(&r);
}

static void test_if_all_lag_the_last_one_says_so(void **state)
{
    struct rig r;

    (void)state;
    set_up_asked(&r, (const struct server_step *const[]){at_5, at_5, at_5});
    client_probe_follow(&r.probe, 0, 8);
    client_probe_run(&r.probe, 1);
    assert_true(r.probe.rq[0].doubted);
    assert_string_equal(r.probe.rq[0].revisions, "5 5 5 ");
    assert_int_equal(r.probe.rq[0].ends, 0);
    for (size_t i = A; i <= C; i++) {
        assert_int_equal(requests(&r, i), 1);
        assert_int_equal(state_of(&r, i), SERVER_UNTRIED); /* none is worse than the others */
    }
    tear_down(&r);
}

/* After a disaster etcd was restored at one server, and the others are down: nobody is left who
 * could know better. */
static void test_if_all_that_can_be_reached_lag(void **state)
{
    struct rig r;

    (void)state;
    set_up(&r, (const struct server_step *const[]){at_5, NULL, hangs_up}, 3, true);
    client_probe_follow(&r.probe, 0, 8);
    client_probe_run(&r.probe, 1);
    assert_true(r.probe.rq[0].doubted);
    assert_string_equal(r.probe.rq[0].revisions, "5 5 ");
    tear_down(&r);
}

/* The server waits for its cache to reach etcd's revision, or etcd does not answer it. A 401 says
 * nothing about its cache. */
static void test_a_question_that_is_refused_or_not_answered(void **state)
{
    static const struct server_step *const bad[] = {unavailable, refusal, busy, silent,
                                                    unauthorized};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct rig r;

        set_up_asked(&r, (const struct server_step *const[]){bad[i], at_9, at_9});
        client_probe_follow(&r.probe, 0, 8);
        client_probe_follow(&r.probe, 1, 8);
        run_until(&r, has_sent_to_a);
        if (bad[i] == silent)
            play_clock_pass(SERVER_IDENTITY_LAG_MS);
        client_probe_run(&r.probe, 2);
        assert_ok(&r, 0);
        assert_ok(&r, 1);
        assert_string_equal(r.probe.rq[0].revisions, "9 ");
        assert_int_equal(requests(&r, A), 1); /* the second request does not ask there again */
        assert_int_equal(state_of(&r, A), bad[i] == unauthorized ? SERVER_FAILED : SERVER_LAGS);
        tear_down(&r);
    }
}

static void test_a_server_of_another_cluster_is_left(void **state)
{
    struct rig r;

    (void)state;
    set_up_asked(&r, (const struct server_step *const[]){foreign, at_9, at_9});
    client_probe_follow(&r.probe, 0, 8);
    client_probe_run(&r.probe, 1);
    assert_ok(&r, 0);
    assert_int_equal(r.judged, 2);
    assert_int_equal(state_of(&r, A), SERVER_FAILED);
    assert_int_equal(in_use(&r), B);
    tear_down(&r);
}

static void test_servers_that_are_all_of_another_cluster(void **state)
{
    struct rig r;

    (void)state;
    set_up_asked(&r, (const struct server_step *const[]){foreign, foreign, foreign});
    client_probe_follow(&r.probe, 0, 8);
    client_probe_run(&r.probe, 1);
    assert_int_equal(r.probe.rq[0].ends, 1);
    assert_int_equal(r.probe.rq[0].err.kind, ERR_FOREIGN);
    assert_int_equal(r.judged, 3);
    tear_down(&r);
}

/* Many scopes fail over together: the second server is asked once, though they come one by one. */
static void test_one_answer_serves_all_that_came_before_it(void **state)
{
    struct rig r;

    (void)state;
    set_up_asked(&r, (const struct server_step *const[]){unavailable, at_9, at_9});
    for (unsigned i = 0; i < N; i++)
        client_probe_follow(&r.probe, i, 8);
    client_probe_run(&r.probe, N);
    for (unsigned i = 0; i < N; i++)
        assert_ok(&r, i);
    assert_int_equal(requests(&r, A), 1);
    assert_int_equal(requests(&r, B), N + 1);
    tear_down(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_refused_connection),
        cmocka_unit_test(test_a_connection_that_ends_before_the_head),
        cmocka_unit_test(test_a_5xx),
        cmocka_unit_test(test_a_401),
        cmocka_unit_test(test_a_401_of_all_servers_blames_none_of_them),
        cmocka_unit_test(test_a_connect_that_is_never_answered),
        cmocka_unit_test(test_a_head_that_does_not_come),
        cmocka_unit_test(test_a_5xx_with_retry_after_is_an_answer),
        cmocka_unit_test(test_a_5xx_of_a_single_server_is_an_answer),
        cmocka_unit_test(test_a_request_that_all_refuse_blames_no_server),
        cmocka_unit_test(test_when_all_fail_the_error_names_all),
        cmocka_unit_test(test_a_response_that_breaks_off),
        cmocka_unit_test(test_a_server_that_the_user_blames),
        cmocka_unit_test(test_a_server_that_cannot_be_verified),
        cmocka_unit_test(test_a_server_without_certificates),
        cmocka_unit_test(test_a_server_that_lags_behind),
        cmocka_unit_test(test_if_all_lag_the_last_one_says_so),
        cmocka_unit_test(test_if_all_that_can_be_reached_lag),
        cmocka_unit_test(test_a_question_that_is_refused_or_not_answered),
        cmocka_unit_test(test_a_server_of_another_cluster_is_left),
        cmocka_unit_test(test_servers_that_are_all_of_another_cluster),
        cmocka_unit_test(test_one_answer_serves_all_that_came_before_it),
    };

    alarm(PATIENCE_S);
    play_clock_stop(); /* no hold ends, and no server is too slow, unless a test says so */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
