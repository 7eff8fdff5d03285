/* SPDX-License-Identifier: Apache-2.0 */
/* io/conn through an HTTP proxy: CONNECT, all that a proxy can answer, and TLS to the proxy. TLS to
 * the server inside of it is tested with a real relay (tests/wire/test_proxy.py). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "campaign.h"
#include "io/loop.h"
#include "io_probe.h"
#include "play_names.h"
#include "proto/proxy.h"
#include "proto/tls.h"
#include "tls_pair.h"

#define SECRET "s3cret"
#define OK_200 "HTTP/1.1 200 Connection established\r\n\r\n"

static const struct server_step tunnel[] = {
    {SERVER_READ,  NULL   },
    {SERVER_SEND,  OK_200 },
    {SERVER_READ,  NULL   },
    {SERVER_SEND,  "hello"},
    {SERVER_CLOSE, NULL   }
};
static const struct server_step silent[] = {
    {SERVER_READ, NULL},
    {SERVER_HOLD, NULL}
};
static const struct server_step hold[] = {
    {SERVER_READ, NULL  },
    {SERVER_SEND, OK_200},
    {SERVER_HOLD, NULL  }
};

/* A probe for the server api.test:6443 behind a proxy on this port. */
struct rig {
    struct io_probe probe;
    struct proxy proxy;
};

static void rig_init(struct rig *rig, const char *scheme, const char *at, uint16_t port)
{
    char *text = mem_printf("%s://%s:%u", scheme, at, (unsigned)port);
    struct err err;

    assert_int_equal(proxy_parse(text, &rig->proxy, &err), ERR_OK);
    free(text);
    io_probe_init(&rig->probe, 6443);
    rig->probe.params.host = "api.test";
    rig->probe.params.proxy = &rig->proxy;
}

static void rig_fini(struct rig *rig)
{
    assert_null(strstr(rig->probe.err.text, SECRET));
    io_probe_fini(&rig->probe);
    proxy_fini(&rig->proxy);
}

/* The error begins with "api.test:6443: proxy 127.0.0.1:PORT: why". */
static void assert_text(const struct rig *rig, enum err_kind kind, const char *why)
{
    char text[400];

    (void)snprintf(text, sizeof(text), "api.test:6443: proxy 127.0.0.1:%u: %s",
                   (unsigned)rig->proxy.url.port, why);
    assert_int_equal(rig->probe.opens, 0);
    assert_int_equal(rig->probe.closes, 1);
    if (strncmp(rig->probe.err.text, text, strlen(text)) != 0)
        fail_msg("%s, not %s", rig->probe.err.text, text);
    assert_int_equal(rig->probe.err.kind, kind);
}

static void go_through(const char *scheme, struct io_tls *t)
{
    struct server *s = server_start_two(tunnel, NULL, t != NULL ? &t->server : NULL);
    char *expected =
        mem_printf("api.test:6443 (through proxy 127.0.0.1:%u)", (unsigned)server_port(s));
    struct buf way = {0};
    struct rig rig;

    rig_init(&rig, scheme, "127.0.0.1", server_port(s));
    rig.probe.params.proxy_tls = t != NULL ? t->ctx : NULL;
    rig.probe.say = "GET\r\n\r\n";
    rig.probe.till_closed = true;
    io_probe_connect_and_run(&rig.probe);
    assert_int_equal(rig.probe.opens, 1);
    assert_string_equal(buf_cstr(&rig.probe.data), "hello");
    assert_string_equal(server_request(s, 0),
                        "CONNECT api.test:6443 HTTP/1.1\r\nHost: api.test:6443\r\n\r\n");
    assert_string_equal(server_request(s, 1), "GET\r\n\r\n");
    assert_int_equal(rig.probe.err.kind, ERR_CLOSED);
    assert_non_null(strstr(rig.probe.err.text, "api.test:6443: the server closed the connection "
                                               "(through proxy 127.0.0.1:"));
    conn_put_way(&way, rig.probe.conn);
    assert_string_equal(buf_cstr(&way), expected);
    buf_free(&way);
    free(expected);
    rig_fini(&rig);
    server_stop(&s);
}

static void test_bytes_go_through_the_proxy(void **state)
{
    (void)state;
    go_through("http", NULL);
}

static void test_bytes_go_through_a_proxy_with_tls(void **state)
{
    go_through("https", *state);
}

static void test_the_proxy_gets_the_password_and_nobody_else(void **state)
{
    static const struct server_step refuses[] =
        SERVER_SAYS(SERVER_EMPTY("407 Proxy Authentication Required"), SERVER_CLOSE);
    struct server *s = server_start_two(refuses, NULL, NULL);
    struct rig rig;

    (void)state;
    rig_init(&rig, "http", "user:" SECRET "@127.0.0.1", server_port(s));
    io_probe_connect_and_run(&rig.probe);
    /* user:s3cret */
    assert_non_null(
        strstr(server_request(s, 0), "\r\nProxy-Authorization: Basic dXNlcjpzM2NyZXQ=\r\n"));
    assert_text(&rig, ERR_IO,
                "CONNECT was answered with status 407: it does not accept the user name and "
                "password; correct them in its address");
    rig_fini(&rig);
    server_stop(&s);
}

static void test_answers_that_open_no_tunnel(void **state)
{
    static const struct {
        struct server_step script[3];
        enum err_kind kind;
        const char *why;
    } cases[] = {
        {SERVER_SAYS("HTTP/1.1 403 Forbidden\r\nContent-Length: 4\r\n\r\nnope",           SERVER_CLOSE),
         ERR_IO,                                                                                                                                         "CONNECT was answered with status 403: it does not let us connect to this host and port; "
         "allow that there, or go without the proxy (NO_PROXY)"},
        {SERVER_SAYS("HTTP/1.0 502 Bad Gateway\r\n\r\n",                                                                               SERVER_CLOSE),                                               ERR_IO,
         "CONNECT was answered with status 502: it cannot reach the server; see its log"},
        {SERVER_SAYS("HTTP/1.1 302 Found\r\nLocation: /login\r\n\r\n", SERVER_CLOSE),              ERR_IO,
         "CONNECT was answered with status 302: it may be no HTTP proxy, or one without CONNECT; "
         "check its address"},
        {SERVER_SAYS("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 503 Full\r\n\r\n",                                                                         SERVER_CLOSE),
         ERR_IO,                                                                                                                          "CONNECT was answered with status 503: it cannot reach the server; see its log"},
        {SERVER_SAYS("SSH-2.0-OpenSSH_9.2\r\n",SERVER_HOLD),                                                                                         ERR_IO,
         "HTTP response: malformed: Expected HTTP/"},
        {SERVER_SAYS("",                                           SERVER_CLOSE),                                                   ERR_CLOSED,   "the proxy closed the connection"},
        {SERVER_SAYS("HTTP/1.1 200 OK\r\nVia: a",                                                                               SERVER_CLOSE),                                                                               ERR_CLOSED,
         "the proxy closed the connection"},
        {{{SERVER_READ, NULL},
          {SERVER_SEND, "HTTP/1.1 200 OK\r\nA: "},
          {SERVER_FLOOD, "0123456789"}},
         ERR_IO,                                                           "HTTP response: the head: more than the limit of 16384 bytes"                                                                },
        {{{SERVER_READ, NULL}, {SERVER_FLOOD, "HTTP/1.1 103 Early\r\n\r\n"}, {SERVER_HOLD, NULL}},
         ERR_IO,                                                              "HTTP response: the head: more than the limit of 16384 bytes"                                                                                                           },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct server *s = server_start_two(cases[i].script, NULL, NULL);
        struct rig rig;

        rig_init(&rig, "http", "127.0.0.1", server_port(s));
        io_probe_connect_and_run(&rig.probe);
        assert_text(&rig, cases[i].kind, cases[i].why);
        assert_int_equal(conn_reached(rig.probe.conn), CONN_PROXY_ASKING);
        rig_fini(&rig);
        server_stop(&s);
    }
}

static void test_answers_that_open_one(void **state)
{
    static const struct {
        const char *answer;
        const char *data; /* that the server sent right behind it */
    } cases[] = {
        {"HTTP/1.0 200 OK\r\n\r\n",                                                ""     },
        {"HTTP/1.1 204 No Content\r\n\r\n",                                        ""     },
        {"HTTP/1.1 200\r\nContent-Length: 5\r\n\r\n",                              ""     },
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",                  ""     },
        {"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nA: b\r\n\r\n" OK_200, ""     },
        {OK_200 "early",                                                           "early"},
        {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nearly",                      "early"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct server_step script[] = SERVER_SAYS(cases[i].answer, SERVER_HOLD);
        struct server *s = server_start_two(script, NULL, NULL);
        struct rig rig;

        rig_init(&rig, "http", "127.0.0.1", server_port(s));
        rig.probe.want = strlen(cases[i].data);
        io_probe_connect_and_run(&rig.probe);
        assert_int_equal(rig.probe.opens, 1);
        assert_string_equal(buf_cstr(&rig.probe.data), cases[i].data);
        rig_fini(&rig);
        server_stop(&s);
    }
}

/* Sends an answer byte by byte, each one when the test has run the loop. */
static void test_an_answer_may_come_byte_by_byte(void **state)
{
    static const char answer[] = OK_200 "early";
    struct server_step script[2 * sizeof(answer) + 1] = {
        {SERVER_READ, NULL}
    };
    char bytes[sizeof(answer)][2] = {{0}};
    size_t n = 1;

    (void)state;
    for (size_t i = 0; i + 1 < sizeof(answer); i++) {
        bytes[i][0] = answer[i];
        script[n++] = (struct server_step){SERVER_SEND, bytes[i]};
        script[n++] = (struct server_step){SERVER_WAIT, NULL};
    }
    script[n] = (struct server_step){SERVER_HOLD, NULL};
    struct server *s = server_start_two(script, NULL, NULL);
    struct rig rig;

    rig_init(&rig, "http", "127.0.0.1", server_port(s));
    rig.probe.want = 5;
    for (size_t i = 0; i + 1 < sizeof(answer); i++)
        server_go(s);
    io_probe_connect_and_run(&rig.probe);
    assert_string_equal(buf_cstr(&rig.probe.data), "early");
    rig_fini(&rig);
    server_stop(&s);
}

static void test_a_silent_proxy_ends_with_the_connect_timeout(void **state)
{
    struct server *s = server_start_two(silent, NULL, NULL);
    struct rig rig;

    (void)state;
    rig_init(&rig, "http", "127.0.0.1", server_port(s));
    rig.probe.params.connect_timeout_ms = 30;
    io_probe_connect_and_run(&rig.probe);
    assert_text(&rig, ERR_TIMEOUT, "no answer to CONNECT within 30 ms");
    rig_fini(&rig);
    server_stop(&s);
}

static void test_a_proxy_that_cannot_be_reached_is_named(void **state)
{
    struct rig rig;
    char text[200];
    int fd;
    uint16_t port = server_refusing_port(&fd);

    (void)state;
    rig_init(&rig, "http", "127.0.0.1", port);
    io_probe_connect_and_run(&rig.probe);
    assert_text(&rig, ERR_REFUSED, "connect: connection refused");
    rig_fini(&rig);

    play_names_set("proxy.test", "127.0.0.1");
    rig_init(&rig, "http", "user:" SECRET "@proxy.test", port);
    io_probe_connect_and_run(&rig.probe);
    (void)snprintf(text, sizeof(text),
                   "api.test:6443: proxy proxy.test:%u: connect: connection refused (127.0.0.1)",
                   (unsigned)port);
    assert_string_equal(rig.probe.err.text, text);
    rig_fini(&rig);
    close(fd);

    rig_init(&rig, "http", "nowhere.test", 3128);
    io_probe_connect_and_run(&rig.probe);
    assert_string_equal(
        rig.probe.err.text,
        "api.test:6443: proxy nowhere.test:3128: name lookup: unknown node or service");
    rig_fini(&rig);
}

static void test_a_proxy_of_another_ca_gets_no_password(void **state)
{
    struct io_tls *t = *state;
    struct server *s = server_start_two(tunnel, NULL, &t->server);
    struct tls_peer_id other;
    struct rig rig;

    tls_peer_issue(&other, NULL, &(struct tls_peer_spec){.subject = "CN=other CA", .ca = true});
    struct tls_ctx *ctx = tls_pair_ctx(&other, NULL);

    rig_init(&rig, "https", "user:" SECRET "@127.0.0.1", server_port(s));
    rig.probe.params.proxy_tls = ctx;
    io_probe_connect_and_run(&rig.probe);
    assert_int_equal(rig.probe.err.kind, ERR_TLS);
    assert_non_null(strstr(rig.probe.err.text, "api.test:6443: proxy 127.0.0.1:"));
    assert_non_null(strstr(rig.probe.err.text, "TLS handshake with 127.0.0.1"));
    assert_int_equal(server_requests(s), 0);
    rig_fini(&rig);
    tls_ctx_unref(&ctx);
    tls_peer_id_fini(&other);
    server_stop(&s);
}

static void test_a_proxy_with_tls_that_is_silent_ends_with_the_tls_timeout(void **state)
{
    struct io_tls *t = *state;
    struct server *s = server_start_two(silent, NULL, NULL);
    struct rig rig;

    rig_init(&rig, "https", "127.0.0.1", server_port(s));
    rig.probe.params.proxy_tls = t->ctx;
    rig.probe.params.tls_timeout_ms = 30;
    io_probe_connect_and_run(&rig.probe);
    assert_text(&rig, ERR_TIMEOUT, "TLS handshake: no answer within 30 ms");
    rig_fini(&rig);
    server_stop(&s);
}

struct spy {
    struct rig *rig;
    enum conn_state until;
    struct loop_task turn;
};

static void on_turn(struct loop_task *task)
{
    struct spy *spy = container_of(task, struct spy, turn);

    if (conn_state(spy->rig->probe.conn) == spy->until)
        conn_dispose(&spy->rig->probe.conn);
    else
        loop_defer(spy->rig->probe.loop, task);
}

static void test_dispose_in_any_state(void **state)
{
    static const enum conn_state states[] = {CONN_DIALING, CONN_PROXY_HANDSHAKING,
                                             CONN_PROXY_ASKING, CONN_HANDSHAKING, CONN_OPEN};
    struct io_tls *t = *state;

    for (size_t i = 0; i < ARRAY_LEN(states); i++) {
        bool asking = states[i] == CONN_PROXY_ASKING;
        struct server *s = server_start_two(asking ? silent : hold, NULL, &t->server);
        struct rig rig;
        struct spy spy = {.rig = &rig, .until = states[i]};

        rig_init(&rig, "https", "127.0.0.1", server_port(s));
        rig.probe.params.proxy_tls = t->ctx;
        rig.probe.params.tls = states[i] == CONN_HANDSHAKING ? t->ctx : NULL;
        rig.probe.till_closed = true;
        io_probe_connect(&rig.probe);
        loop_task_init(&spy.turn, on_turn);
        loop_defer(rig.probe.loop, &spy.turn);
        io_probe_run(&rig.probe);
        assert_null(rig.probe.conn);
        assert_int_equal(rig.probe.closes, 0);
        rig_fini(&rig);
        server_stop(&s);
    }
}

static void test_dispose_inside_any_callback(void **state)
{
    static const struct server_step early[] =
        SERVER_SAYS("HTTP/1.1 200 OK\r\n\r\nearly", SERVER_CLOSE);
    struct io_tls *t = *state;

    for (enum io_probe_dispose where = IO_ON_OPEN; where <= IO_ON_CLOSED; where++) {
        for (int tls = 0; tls < 2; tls++) {
            struct server *s = server_start_two(early, NULL, tls > 0 ? &t->server : NULL);
            struct rig rig;

            rig_init(&rig, tls > 0 ? "https" : "http", "127.0.0.1", server_port(s));
            rig.probe.params.proxy_tls = t->ctx;
            rig.probe.till_closed = true;
            rig.probe.dispose = where;
            io_probe_connect_and_run(&rig.probe);
            assert_null(rig.probe.conn);
            rig_fini(&rig);
            server_stop(&s);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes_go_through_the_proxy),
        cmocka_unit_test(test_bytes_go_through_a_proxy_with_tls),
        cmocka_unit_test(test_the_proxy_gets_the_password_and_nobody_else),
        cmocka_unit_test(test_answers_that_open_no_tunnel),
        cmocka_unit_test(test_answers_that_open_one),
        cmocka_unit_test(test_an_answer_may_come_byte_by_byte),
        cmocka_unit_test(test_a_silent_proxy_ends_with_the_connect_timeout),
        cmocka_unit_test(test_a_proxy_that_cannot_be_reached_is_named),
        cmocka_unit_test(test_a_proxy_of_another_ca_gets_no_password),
        cmocka_unit_test(test_a_proxy_with_tls_that_is_silent_ends_with_the_tls_timeout),
        cmocka_unit_test(test_dispose_in_any_state),
        cmocka_unit_test(test_dispose_inside_any_callback),
    };

    alarm(PATIENCE_S);
    return cmocka_run_group_tests(tests, io_tls_set_up, io_tls_clean_up);
}
