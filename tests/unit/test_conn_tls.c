/* SPDX-License-Identifier: Apache-2.0 */
/* io/conn over TLS: handshake, sessions, and the errors for peers that break the protocol. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "campaign.h"
#include "io/loop.h"
#include "io_probe.h"
#include "play_names.h"
#include "proto/tls.h"
#include "tls_pair.h"

static const struct server_step echo[] = {
    {SERVER_READ,  NULL   },
    {SERVER_SEND,  "hello"},
    {SERVER_CLOSE, NULL   }
};
static const struct server_step hold[] = {
    {SERVER_HOLD, NULL}
};
static const struct server_step flood[] = {
    {SERVER_READ,  NULL                              },
    {SERVER_FLOOD, "0123456789abcdef0123456789abcdef"},
    {SERVER_CLOSE, NULL                              }
};
static const struct server_step plain_http[] = {
    {SERVER_SEND,  "HTTP/1.0 400 Bad Request\r\n\r\nClient sent a TLS request"},
    {SERVER_CLOSE, NULL                                                       }
};
static const struct server_step hang_up[] = {
    {SERVER_CLOSE, NULL}
};

static void probe_tls(struct io_probe *p, const struct server *s, struct tls_ctx *ctx)
{
    io_probe_init(p, server_port(s));
    p->params.tls = ctx;
    p->say = "GET\r\n\r\n";
    p->till_closed = true;
}

static void go_both_ways(struct io_tls *t)
{
    struct server *s = server_start_two(echo, NULL, &t->server);
    struct io_probe p;

    probe_tls(&p, s, t->ctx);
    io_probe_connect(&p);
    assert_ptr_equal(conn_tls_ctx(p.conn), t->ctx);
    io_probe_run(&p);
    assert_int_equal(p.opens, 1);
    assert_string_equal(buf_cstr(&p.data), "hello");
    assert_string_equal(server_request(s, 0), "GET\r\n\r\n");
    assert_int_equal(p.err.kind, ERR_CLOSED); /* no close_notify */
    assert_non_null(strstr(p.err.text, "the server closed the connection"));
    assert_int_equal(p.closes, 1);
    assert_true(p.sessions >= 1);
    assert_false(conn_resumed(p.conn));

    struct io_probe q;

    probe_tls(&q, s, t->ctx);
    q.params.resume = p.session;
    io_probe_connect_and_run(&q);
    assert_string_equal(buf_cstr(&q.data), "hello");
    assert_true(conn_resumed(q.conn));
    io_probe_fini(&q);
    io_probe_fini(&p);
    server_stop(&s);
}

static void test_bytes_go_both_ways_and_sessions_are_resumed(void **state)
{
    static const enum tls_peer_versions versions[] = {TLS_PEER_ALL, TLS_PEER_1_2};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(versions); i++) {
        struct io_tls t;

        io_tls_init(&t, versions[i]);
        go_both_ways(&t);
        io_tls_fini(&t);
    }
}

static void test_a_server_of_another_ca_or_name_is_refused(void **state)
{
    struct io_tls *t = *state;
    struct tls_peer_id other;
    struct server *s = server_start_two(echo, NULL, &t->server);
    struct io_probe p;

    tls_peer_issue(&other, NULL, &(struct tls_peer_spec){.subject = "CN=other CA", .ca = true});
    struct tls_ctx *ctx = tls_pair_ctx(&other, NULL);

    probe_tls(&p, s, ctx);
    io_probe_connect_and_run(&p);
    assert_int_equal(p.opens, 0);
    assert_int_equal(p.closes, 1);
    assert_int_equal(p.err.kind, ERR_TLS);
    assert_ptr_equal(strstr(p.err.text, "127.0.0.1:"), p.err.text);
    assert_non_null(strstr(p.err.text, "TLS handshake"));
    io_probe_fini(&p);

    probe_tls(&p, s, t->ctx);
    p.params.server_name = "wrong.test";
    io_probe_connect_and_run(&p);
    assert_int_equal(p.err.kind, ERR_TLS);
    assert_non_null(strstr(p.err.text, "wrong.test"));
    io_probe_fini(&p);

    probe_tls(&p, s, t->ctx);
    p.params.server_name = "api.test";
    io_probe_connect_and_run(&p);
    assert_int_equal(p.opens, 1);
    io_probe_fini(&p);
    server_stop(&s);
    tls_ctx_unref(&ctx);
    tls_peer_id_fini(&other);
}

static void test_what_people_are_told_of_an_open_connection(void **state)
{
    static const char *const words[] = {"TLSv1.", ", certificate (subject \"", "valid until 20"};
    struct io_tls *t = *state;
    struct server *s = server_start_two(hold, NULL, &t->server);
    struct buf peer = {0};
    struct io_probe p;

    io_probe_init(&p, server_port(s));
    p.params.tls = t->ctx;
    io_probe_connect_and_run(&p);
    assert_int_equal(conn_reached(p.conn), CONN_OPEN);
    conn_put_peer(&peer, p.conn);
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        assert_non_null(strstr(buf_cstr(&peer), words[i]));
    buf_free(&peer);
    io_probe_fini(&p);
    server_stop(&s);
}

static void test_a_silent_server_ends_with_the_tls_timeout(void **state)
{
    struct io_tls *t = *state;
    struct server *s = server_start_two(hold, NULL, NULL);
    struct io_probe p;

    probe_tls(&p, s, t->ctx);
    p.params.tls_timeout_ms = 30;
    io_probe_connect_and_run(&p);
    assert_int_equal(p.opens, 0);
    assert_int_equal(p.err.kind, ERR_TIMEOUT);
    assert_non_null(strstr(p.err.text, ": TLS handshake: no answer within 30 ms"));
    assert_int_equal(conn_state(p.conn), CONN_CLOSED);
    assert_int_equal(conn_reached(p.conn), CONN_HANDSHAKING);
    io_probe_fini(&p);
    server_stop(&s);
}

static void test_an_address_without_a_handshake_is_tried_last_the_next_time(void **state)
{
    struct io_tls *t = *state;
    struct server *good = server_start_two(hold, NULL, &t->server);
    const struct server_params params = {
        .address = "127.0.0.2", .port = server_port(good), .scripts = SERVER_SCRIPTS(hold)};
    struct server *silent = server_start(&params);
    struct io_probe p;

    play_names_set("api.test", "127.0.0.2 127.0.0.1");
    probe_tls(&p, good, t->ctx);
    p.params.host = "api.test";
    p.params.tls_timeout_ms = 30;
    p.till_closed = false;
    io_probe_connect_and_run(&p);
    assert_int_equal(p.opens, 0);
    assert_int_equal(p.err.kind, ERR_TIMEOUT);
    assert_non_null(strstr(p.err.text, "TLS handshake: no answer within 30 ms (127.0.0.2)"));
    conn_dispose(&p.conn);
    p.closes = 0;
    p.params.tls_timeout_ms = IO_PROBE_TIMEOUT_MS;
    io_probe_connect_and_run(&p);
    assert_int_equal(p.opens, 1);
    io_probe_fini(&p);
    server_stop(&good);
    server_stop(&silent);
}

static void test_peers_that_do_not_speak_tls(void **state)
{
    struct io_tls *t = *state;
    struct server *s = server_start_two(plain_http, NULL, NULL);
    struct io_probe p;

    probe_tls(&p, s, t->ctx);
    io_probe_connect_and_run(&p);
    assert_int_equal(p.err.kind, ERR_TLS);
    assert_non_null(strstr(p.err.text, "plain HTTP"));
    io_probe_fini(&p);
    server_stop(&s);

    s = server_start_two(hang_up, NULL, NULL);
    probe_tls(&p, s, t->ctx);
    io_probe_connect_and_run(&p);
    assert_true(p.err.kind == ERR_CLOSED ||
                p.err.kind == ERR_IO); /* FIN, or RST for unread bytes */
    assert_non_null(strstr(p.err.text, ": TLS handshake: "));
    io_probe_fini(&p);
    server_stop(&s);
}

static void test_a_flood_arrives_whole(void **state)
{
    struct io_tls *t = *state;
    struct server *s = server_start_two(flood, NULL, &t->server);
    struct io_probe p;

    probe_tls(&p, s, t->ctx);
    io_probe_connect_and_run(&p);
    assert_int_equal(p.data.len, 65536 * 32);
    assert_int_equal(p.err.kind, ERR_CLOSED);
    io_probe_fini(&p);
    server_stop(&s);
}

static void test_dispose_inside_any_callback_and_while_shaking_hands(void **state)
{
    struct io_tls *t = *state;
    struct server *s = server_start_two(echo, NULL, &t->server);
    struct io_probe p;

    for (enum io_probe_dispose where = IO_ON_OPEN; where <= IO_ON_CLOSED; where++) {
        probe_tls(&p, s, t->ctx);
        p.dispose = where;
        io_probe_connect_and_run(&p);
        assert_null(p.conn);
        p.calling = true;
        io_probe_run(&p);
        io_probe_fini(&p);
    }
    server_stop(&s);
}

struct spy {
    struct io_probe *p;
    struct loop_task turn;
    enum conn_state until;
};

static void on_turn(struct loop_task *task)
{
    struct spy *spy = container_of(task, struct spy, turn);

    if (conn_state(spy->p->conn) == spy->until)
        conn_dispose(&spy->p->conn);
    else
        loop_defer(spy->p->loop, task);
}

static void test_dispose_in_any_state(void **state)
{
    static const enum conn_state states[] = {CONN_DIALING, CONN_HANDSHAKING, CONN_OPEN};
    struct io_tls *t = *state;
    struct server *s = server_start_two(hold, NULL, &t->server);

    for (size_t i = 0; i < ARRAY_LEN(states); i++) {
        struct io_probe p;
        struct spy spy = {.p = &p, .until = states[i]};

        probe_tls(&p, s, t->ctx);
        p.params.host = "localhost";
        p.params.server_name = "api.test";
        p.say = NULL;
        io_probe_connect(&p);
        loop_task_init(&spy.turn, on_turn);
        loop_defer(p.loop, &spy.turn);
        io_probe_run(&p);
        assert_null(p.conn);
        assert_int_equal(p.closes, 0);
        io_probe_fini(&p);
    }
    server_stop(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes_go_both_ways_and_sessions_are_resumed),
        cmocka_unit_test(test_a_server_of_another_ca_or_name_is_refused),
        cmocka_unit_test(test_what_people_are_told_of_an_open_connection),
        cmocka_unit_test(test_a_silent_server_ends_with_the_tls_timeout),
        cmocka_unit_test(test_an_address_without_a_handshake_is_tried_last_the_next_time),
        cmocka_unit_test(test_peers_that_do_not_speak_tls),
        cmocka_unit_test(test_a_flood_arrives_whole),
        cmocka_unit_test(test_dispose_inside_any_callback_and_while_shaking_hands),
        cmocka_unit_test(test_dispose_in_any_state),
    };

    alarm(PATIENCE_S);
    return cmocka_run_group_tests(tests, io_tls_set_up, io_tls_clean_up);
}
