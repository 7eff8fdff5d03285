/* SPDX-License-Identifier: Apache-2.0 */
/* io/api_client over plain TCP: the request head, keep-alive, the repeat on a stale connection, the
 * list gate, dispose anywhere. */
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
#include "io/pool.h"
#include "proto/proxy.h"
#include "request_probe.h"
#include "server.h"

#define CHUNKED "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

static const struct server_step read_hold[] = {
    {SERVER_READ, NULL},
    {SERVER_HOLD, NULL}
};
static const struct server_step read_close[] = {
    {SERVER_READ,  NULL},
    {SERVER_CLOSE, NULL}
};
static const struct server_step answer_close[] = {
    {SERVER_READ,  NULL           },
    {SERVER_SEND,  SERVER_OK_HELLO},
    {SERVER_CLOSE, NULL           }
};
static const struct server_step answer_once[] = {
    {SERVER_READ,  NULL           },
    {SERVER_SEND,  SERVER_OK_HELLO},
    {SERVER_READ,  NULL           },
    {SERVER_CLOSE, NULL           }
};
static const struct server_step answer_reset[] = {
    {SERVER_READ,  NULL           },
    {SERVER_SEND,  SERVER_OK_HELLO},
    {SERVER_READ,  NULL           },
    {SERVER_RESET, NULL           }
};

static void assert_ok(const struct client_probe *p, unsigned i)
{
    struct buf body = p->rq[i].body;

    assert_int_equal(p->rq[i].ends, 1);
    if (!p->rq[i].complete)
        fail_msg("%s", p->rq[i].err.text);
    assert_int_equal(p->rq[i].status, 200);
    assert_true(str_is(buf_str(&body), "hello"));
}

static bool asks_for(struct server *s, unsigned i, const char *target)
{
    char line[128];

    (void)snprintf(line, sizeof(line), "GET /pre%s HTTP/1.1\r\n", target);
    return strncmp(server_request(s, i), line, strlen(line)) == 0;
}

static void test_the_head_of_a_request(void **state)
{
    struct server *s = server_start_two(server_hello, NULL, NULL);
    struct client_probe p;
    char host[64];

    (void)state;
    client_probe_init(&p, "http", server_port(s), 1);
    (void)snprintf(host, sizeof(host), "Host: 127.0.0.1:%u\r\n", (unsigned)server_port(s));
    assert_int_equal(api_client_last_contact_ms(p.client), 0);
    assert_string_equal(api_client_name(p.client), "prod");
    api_client_set_authorization(p.client, 0, "Bearer t1");
    client_probe_do(&p, 0, true, "/api/v1/services?limit=500");
    assert_ok(&p, 0);
    assert_true(api_client_last_contact_ms(p.client) > 0);
    assert_true(asks_for(s, 0, "/api/v1/services?limit=500"));
    assert_non_null(strstr(server_request(s, 0), host));
    assert_non_null(strstr(server_request(s, 0), "informerd/test\r\n"));
    assert_null(strstr(server_request(s, 0), "Authorization")); /* this is plain http */
    client_probe_fini(&p);
    server_stop(&s);
}

static void test_connections_are_kept_alive(void **state)
{
    struct server *s = server_start_two(server_hello, NULL, NULL);
    struct client_probe p;

    (void)state;
    client_probe_init(&p, "http", server_port(s), 1);
    for (unsigned i = 0; i < 6; i++) {
        client_probe_do(&p, i, i % 2 == 0, "/x");
        assert_ok(&p, i);
    }
    assert_int_equal(server_connections(s), 1);
    client_probe_fini(&p);
    server_stop(&s);
}

static void test_few_idle_connections_are_kept(void **state)
{
    struct server *s = server_start_two(server_hello_later, NULL, NULL);
    struct client_probe p;
    enum { N = POOL_MAX_IDLE + 2 };

    (void)state;
    client_probe_init(&p, "http", server_port(s), N);
    for (unsigned round = 0; round < 2; round++) {
        for (unsigned i = 0; i < N; i++)
            client_probe_start(&p, i, true, "/x");
        for (unsigned i = 0; i < N; i++)
            server_go(s);
        client_probe_run(&p, N);
        for (unsigned i = 0; i < N; i++) {
            assert_ok(&p, i);
            request_dispose(&p.rq[i].r);
        }
    }
    assert_int_equal(server_connections(s), N + 2);
    client_probe_fini(&p);
    server_stop(&s);
}

static void repeat_after(const struct server_step *first, unsigned requests)
{
    struct server *s = server_start_two(first, server_hello, NULL);
    struct client_probe p;

    client_probe_init(&p, "http", server_port(s), 1);
    client_probe_do(&p, 0, true, "/a");
    assert_ok(&p, 0);
    client_probe_do(&p, 1, true, "/b");
    assert_ok(&p, 1);
    assert_int_equal(server_requests(s), requests);
    assert_true(asks_for(s, requests - 1, "/b"));
    assert_int_equal(server_connections(s), 2);
    client_probe_do(&p, 2, true, "/c"); /* the gate has its place again */
    assert_ok(&p, 2);
    client_probe_fini(&p);
    server_stop(&s);
}

static void test_a_request_on_a_stale_connection_is_repeated(void **state)
{
    (void)state;
    repeat_after(answer_once, 3);
    repeat_after(answer_reset, 3);
}

struct ticker {
    struct client_probe *p;
    struct server *s;
    struct loop_task turn;
    unsigned requests; /* the loop stops when so many have come */
};

static void on_turn(struct loop_task *task)
{
    struct ticker *t = container_of(task, struct ticker, turn);

    if (server_requests(t->s) >= t->requests)
        loop_stop(t->p->loop);
    else
        loop_defer(t->p->loop, task);
}

static void run_until_requests(struct client_probe *p, struct server *s, unsigned requests)
{
    struct ticker t = {.p = p, .s = s, .requests = requests};

    loop_task_init(&t.turn, on_turn);
    loop_defer(p->loop, &t.turn);
    loop_run(p->loop);
    loop_cancel(&t.turn);
}

static void test_an_end_of_an_idle_connection_costs_nothing(void **state)
{
    struct server *s = server_start_two(answer_close, server_hello, NULL);
    struct client_probe p;

    (void)state;
    client_probe_init(&p, "http", server_port(s), 1);
    client_probe_do(&p, 0, true, "/a");
    client_probe_do(&p, 1, true, "/b");
    assert_ok(&p, 1);
    client_probe_fini(&p);
    server_stop(&s);
}

static void test_a_request_is_repeated_only_once_and_never_on_a_fresh_connection(void **state)
{
    struct server *s = server_start_two(answer_once, read_close, NULL);
    struct client_probe p;

    (void)state;
    client_probe_init(&p, "http", server_port(s), 1);
    client_probe_do(&p, 0, true, "/a");
    client_probe_do(&p, 1, true, "/b");
    assert_int_equal(p.rq[1].ends, 1);
    assert_int_equal(p.rq[1].err.kind, ERR_CLOSED);
    assert_int_equal(server_accepted(s), 2);
    client_probe_do(&p, 2, true, "/c");
    assert_int_equal(p.rq[2].err.kind, ERR_CLOSED);
    assert_non_null(strstr(p.rq[2].err.text, "before it answered"));
    assert_int_equal(server_accepted(s), 3);
    client_probe_fini(&p);
    server_stop(&s);
}

static void test_lists_start_in_order_and_few_at_a_time(void **state)
{
    static const char *const targets[] = {"/0", "/1", "/2", "/3", "/4", "/5", "/6", "/7"};
    struct server *s = server_start_two(server_hello, NULL, NULL);
    struct client_probe p;

    (void)state;
    client_probe_init(&p, "http", server_port(s), 1);
    for (unsigned i = 0; i < ARRAY_LEN(targets); i++)
        client_probe_start(&p, i, true, targets[i]);
    client_probe_run(&p, ARRAY_LEN(targets));
    for (unsigned i = 0; i < ARRAY_LEN(targets); i++) {
        assert_ok(&p, i);
        assert_true(asks_for(s, i, targets[i]));
    }
    assert_int_equal(server_accepted(s), 1);
    client_probe_fini(&p);
    server_stop(&s);
}

static void test_watches_pass_a_full_gate_and_dispose_frees_a_place(void **state)
{
    struct server *s = server_start_two(read_hold, server_hello, NULL);
    struct client_probe p;

    (void)state;
    client_probe_init(&p, "http", server_port(s), 1);
    client_probe_start(&p, 0, true, "/held");
    run_until_requests(&p, s, 1);
    client_probe_start(&p, 1, true, "/waits");
    client_probe_do(&p, 2, false, "/watch");
    assert_ok(&p, 2);
    assert_int_equal(p.rq[1].ends, 0);
    assert_int_equal(server_requests(s), 2);
    request_dispose(&p.rq[0].r);
    client_probe_run(&p, 1);
    assert_ok(&p, 1);
    assert_int_equal(p.rq[0].ends, 0);
    client_probe_fini(&p);
    server_stop(&s);
}

static void test_a_refusal_comes_later_and_once(void **state)
{
    struct client_probe p;
    int fd;

    (void)state;
    client_probe_init(&p, "http", server_refusing_port(&fd), 1);
    for (unsigned i = 0; i < 3; i++)
        client_probe_start(&p, i, true, "/x");
    client_probe_run(&p, 3);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(p.rq[i].ends, 1);
        assert_int_equal(p.rq[i].err.kind, ERR_REFUSED);
    }
    client_probe_fini(&p);
    close(fd);
}

/* Makes the client anew with the parameters in p. */
static void make_again(struct client_probe *p, const struct server *s)
{
    char url[64];

    api_client_dispose(&p->client);
    (void)snprintf(url, sizeof(url), "http://127.0.0.1:%u/pre", (unsigned)server_port(s));
    client_probe_make(p, url);
}

static bool asks_for_gzip(struct server *s, unsigned i)
{
    return strstr(server_request(s, i), "\r\nAccept-Encoding: gzip\r\n") != NULL;
}

static void test_lists_ask_for_gzip_if_they_may_and_nothing_else_does(void **state)
{
    struct server *s = server_start_two(server_hello, NULL, NULL);
    struct client_probe p;

    (void)state;
    client_probe_init(&p, "http", server_port(s), 4);
    client_probe_do(&p, 0, true, "/list");
    assert_null(strstr(server_request(s, 0), "Accept-Encoding"));
    p.params.gzip = true;
    make_again(&p, s);
    client_probe_do(&p, 0, true, "/list");
    client_probe_do(&p, 0, false, "/watch");
    client_probe_stream(&p, 0, "/stream");
    client_probe_run(&p, 1);
    assert_int_equal(server_requests(s), 4);
    assert_true(asks_for_gzip(s, 1));
    assert_null(strstr(server_request(s, 2), "Accept-Encoding"));
    assert_null(strstr(server_request(s, 3), "Accept-Encoding"));
    client_probe_fini(&p);
    server_stop(&s);
}

static void test_only_lists_have_an_idle_timeout(void **state)
{
    static const struct server_step stops[] = {
        {SERVER_READ, NULL              },
        {SERVER_SEND, CHUNKED "5\r\nhel"},
        {SERVER_HOLD, NULL              }
    };
    struct server *s = server_start_two(stops, NULL, NULL);
    struct client_probe p;

    (void)state;
    client_probe_init(&p, "http", server_port(s), 1);
    p.params.list_idle_timeout_ms = 30;
    make_again(&p, s);
    client_probe_start(&p, 0, false, "/watch");
    client_probe_do(&p, 1, true, "/list");
    assert_int_equal(p.rq[1].err.kind, ERR_TIMEOUT);
    assert_int_equal(p.rq[0].ends, 0);
    client_probe_fini(&p);
    server_stop(&s);
}

static void test_https_without_certificates_is_an_error(void **state)
{
    struct client_probe p;

    (void)state;
    client_probe_init(&p, "https", 1, 1);
    client_probe_start(&p, 0, true, "/x");
    client_probe_start(&p, 1, false, "/x");
    client_probe_run(&p, 2);
    assert_int_equal(p.rq[0].err.kind, ERR_CREDENTIAL);
    assert_int_equal(p.rq[1].err.kind, ERR_CREDENTIAL);
    client_probe_fini(&p);
}

static void stop_loop(void *arg)
{
    loop_stop(arg);
}

/* Without certificates at least TCP can be checked. */
static void test_a_connection_that_only_shows_how_far_it_gets(void **state)
{
    static const struct conn_events events = {.on_open = stop_loop};
    struct server *s = server_start_two(read_hold, NULL, NULL);
    struct client_probe p;

    (void)state;
    client_probe_init(&p, "https", server_port(s), 1);
    struct conn *conn = api_client_connect(p.client, 0, &events, p.loop);
    loop_run(p.loop);
    assert_int_equal(conn_state(conn), CONN_OPEN);
    assert_null(conn_tls_ctx(conn));
    assert_int_equal(server_requests(s), 0);
    conn_dispose(&conn);
    client_probe_fini(&p);
    server_stop(&s);
}

static void test_no_connection_through_a_proxy_without_its_cas(void **state)
{
    static const struct conn_events events = {.on_open = stop_loop};
    struct loop *loop = loop_create();
    struct proxy proxy;
    struct url url;

    (void)state;
    assert_int_equal(proxy_parse("https://127.0.0.1:1", &proxy, NULL), ERR_OK);
    assert_int_equal(url_parse("https://127.0.0.1:1", &url, NULL), ERR_OK);
    const struct api_client_server server = {.name = "s", .url = &url, .proxy = &proxy, .tier = 1};
    const struct api_client_params params = {.name = "prod",
                                             .servers = &server,
                                             .server_count = 1,
                                             .user_agent = "informerd/test",
                                             .list_concurrency = 1};
    struct api_client *client = api_client_create(loop, &params);
    assert_null(api_client_connect(client, 0, &events, loop));
    api_client_dispose(&client);
    loop_destroy(&loop);
    proxy_fini(&proxy);
    url_fini(&url);
}

static void dispose_in(enum request_probe_at where, bool with_cluster)
{
    struct server *s = server_start_two(server_hello, NULL, NULL);
    struct client_probe p;

    client_probe_init(&p, "http", server_port(s), 2);
    for (unsigned i = 0; i < 3; i++) {
        p.rq[i].dispose = where;
        p.rq[i].with_cluster = with_cluster;
        client_probe_start(&p, i, true, "/x");
    }
    client_probe_run(&p, 4);
    assert_true(p.rq[0].r == NULL || p.rq[1].r == NULL);
    for (unsigned i = 0; i < 3 && with_cluster; i++)
        p.rq[i].silent = true;
    while (!with_cluster && (p.rq[0].r != NULL || p.rq[1].r != NULL || p.rq[2].r != NULL))
        client_probe_run(&p, 4);
    client_probe_fini(&p);
    server_stop(&s);
}

static void test_dispose_in_any_callback(void **state)
{
    (void)state;
    for (enum request_probe_at where = RQ_AT_HEAD; where <= RQ_AT_END; where++) {
        dispose_in(where, false);
        dispose_in(where, true);
    }
}

static void test_dispose_before_the_first_turn_and_while_it_runs(void **state)
{
    struct server *s = server_start_two(read_hold, NULL, NULL);
    struct client_probe p;

    (void)state;
    client_probe_init(&p, "http", server_port(s), 1);
    client_probe_start(&p, 0, true, "/x");
    request_dispose(&p.rq[0].r);
    client_probe_start(&p, 1, true, "/x");
    client_probe_start(&p, 2, true, "/x");
    run_until_requests(&p, s, 1);
    api_client_dispose(&p.client);
    p.calling = true;
    request_dispose(&p.rq[1].r);
    loop_run(p.loop); /* ends: the request that is left has nothing to wait for */
    client_probe_fini(&p);
    server_stop(&s);
}

/* Then each server is taken for the right cluster's. */
static void test_without_a_judge_no_server_is_asked(void **state)
{
    struct client_probe p;
    int fd;

    (void)state;
    client_probe_init(&p, "http", server_refusing_port(&fd), 1);
    client_probe_identify(&p, 0, 0);
    client_probe_run(&p, 1);
    assert_int_equal(p.rq[0].ends, 1);
    assert_true(p.rq[0].complete);
    client_probe_fini(&p);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_head_of_a_request),
        cmocka_unit_test(test_connections_are_kept_alive),
        cmocka_unit_test(test_few_idle_connections_are_kept),
        cmocka_unit_test(test_a_request_on_a_stale_connection_is_repeated),
        cmocka_unit_test(test_an_end_of_an_idle_connection_costs_nothing),
        cmocka_unit_test(test_a_request_is_repeated_only_once_and_never_on_a_fresh_connection),
        cmocka_unit_test(test_lists_start_in_order_and_few_at_a_time),
        cmocka_unit_test(test_watches_pass_a_full_gate_and_dispose_frees_a_place),
        cmocka_unit_test(test_a_refusal_comes_later_and_once),
        cmocka_unit_test(test_lists_ask_for_gzip_if_they_may_and_nothing_else_does),
        cmocka_unit_test(test_only_lists_have_an_idle_timeout),
        cmocka_unit_test(test_https_without_certificates_is_an_error),
        cmocka_unit_test(test_a_connection_that_only_shows_how_far_it_gets),
        cmocka_unit_test(test_no_connection_through_a_proxy_without_its_cas),
        cmocka_unit_test(test_dispose_in_any_callback),
        cmocka_unit_test(test_dispose_before_the_first_turn_and_while_it_runs),
        cmocka_unit_test(test_without_a_judge_no_server_is_asked),
    };

    alarm(PATIENCE_S);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
