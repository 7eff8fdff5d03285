/* SPDX-License-Identifier: Apache-2.0 */
/* io/exchange: how a response can come, stop and end, and each of the three deadlines. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "campaign.h"
#include "io/exchange.h"
#include "io/loop.h"
#include "io_probe.h"
#include "proto/http_in.h"
#include "proto/http_out.h"

#define OK_CHUNKED \
    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"

enum dispose { NEVER, AT_HEAD, AT_BODY, AT_END, WITH_CONN_AT_BODY };

struct probe {
    struct io_probe io;
    struct server *server; /* of run() */
    struct exchange *x;
    struct exchange_params params;
    enum dispose dispose;
    bool calling;
    bool gzip; /* the request accepts it */
    int heads, ends;
    int status;
    bool complete;
    struct buf body;
    struct err err;
};

static void maybe_dispose(struct probe *p, enum dispose now)
{
    assert_false(p->calling);
    if (p->dispose != now && !(p->dispose == WITH_CONN_AT_BODY && now == AT_BODY))
        return;
    exchange_dispose(&p->x);
    if (p->dispose == WITH_CONN_AT_BODY)
        conn_dispose(&p->io.conn);
    loop_stop(p->io.loop);
}

static void on_head(void *arg, const struct http_head *head)
{
    struct probe *p = arg;

    assert_int_equal(p->heads++, 0);
    p->status = head->status;
    maybe_dispose(p, AT_HEAD);
}

static void on_body(void *arg, const char *data, size_t n)
{
    struct probe *p = arg;

    assert_true(p->heads == 1 && p->ends == 0 && n > 0);
    buf_append(&p->body, data, n);
    maybe_dispose(p, AT_BODY);
}

static void on_end(void *arg, const struct err *err)
{
    struct probe *p = arg;

    assert_int_equal(p->ends++, 0);
    p->complete = err == NULL;
    if (err != NULL)
        p->err = *err;
    loop_stop(p->io.loop);
    maybe_dispose(p, AT_END);
}

/* Opens a connection; the exchange is not begun. */
static void open_probe(struct probe *p, const struct server *s)
{
    memset(p, 0, sizeof(*p));
    io_probe_init(&p->io, server_port(s));
    p->params.response_timeout_ms = IO_PROBE_TIMEOUT_MS;
    io_probe_connect_and_run(&p->io);
    assert_int_equal(p->io.opens, 1);
}

static void exchange(struct probe *p)
{
    static const struct exchange_events events = {on_head, on_body, on_end};
    const struct http_request get = {.method = "GET",
                                     .target = "/api?x=1",
                                     .host = "api.test",
                                     .authorization = "Bearer secret",
                                     .gzip = p->gzip};

    p->params.request = &get;
    p->heads = p->ends = 0;
    buf_clear(&p->body);
    p->calling = true;
    p->x = exchange_create(p->io.loop, p->io.conn, &p->params, &events, p);
    p->calling = false;
    loop_run(p->io.loop);
}

static void close_probe(struct probe *p)
{
    p->calling = true;
    exchange_dispose(&p->x);
    io_probe_fini(&p->io);
    buf_free(&p->body);
    if (p->server != NULL)
        server_stop(&p->server);
}

/* One exchange with a server of its own that follows this script; close_probe() stops both. */
static void run(struct probe *p, const struct server_step *script)
{
    struct server *s = server_start_two(script, NULL, NULL);

    open_probe(p, s);
    p->server = s;
    exchange(p);
}

static void test_a_response_and_then_another_on_the_same_connection(void **state)
{
    static const struct server_step script[] = {
        {SERVER_READ,  NULL           },
        {SERVER_SEND,  SERVER_OK_HELLO},
        {SERVER_AGAIN, NULL           }
    };
    struct server *s = server_start_two(script, NULL, NULL);
    struct probe p;

    (void)state;
    open_probe(&p, s);
    for (int i = 0; i < 3; i++) {
        exchange(&p);
        assert_true(p.complete && p.heads == 1 && p.ends == 1);
        assert_int_equal(p.status, 200);
        assert_string_equal(buf_cstr(&p.body), "hello");
        assert_true(exchange_heard(p.x));
        assert_true(exchange_reusable(p.x));
        exchange_dispose(&p.x);
    }
    assert_int_equal(server_requests(s), 3);
    assert_non_null(strstr(server_request(s, 0), "GET /api?x=1 HTTP/1.1\r\n"));
    assert_non_null(strstr(server_request(s, 0), "Bearer secret\r\n"));
    close_probe(&p);
    server_stop(&s);
}

static void test_chunks_in_pieces(void **state)
{
    static const struct server_step script[] = {
        {SERVER_READ, NULL              },
        {SERVER_SEND, OK_CHUNKED "3"    },
        {SERVER_SEND, "\r\nhe"          },
        {SERVER_SEND, "l\r\n"           },
        {SERVER_SEND, "2\r\nlo\r\n0\r\n"},
        {SERVER_SEND, "\r\n"            },
        {SERVER_HOLD, NULL              }
    };
    struct probe p;

    (void)state;
    run(&p, script);
    assert_true(p.complete);
    assert_string_equal(buf_cstr(&p.body), "hello");
    assert_true(exchange_reusable(p.x));
    close_probe(&p);
}

static void test_a_body_until_the_end_of_the_connection(void **state)
{
    static const struct server_step script[] = {
        {SERVER_READ,  NULL                     },
        {SERVER_SEND,  "HTTP/1.0 200 OK\r\n\r\n"},
        {SERVER_FLOOD, "0123456789abcdef"       },
        {SERVER_CLOSE, NULL                     }
    };
    struct probe p;

    (void)state;
    run(&p, script);
    assert_true(p.complete);
    assert_int_equal(p.body.len, 65536 * 16);
    assert_false(exchange_reusable(p.x));
    close_probe(&p);
}

static void test_bytes_behind_the_response_spoil_the_connection(void **state)
{
    static const struct server_step script[] = {
        {SERVER_READ, NULL                             },
        {SERVER_SEND, SERVER_OK_HELLO "HTTP/1.1 200 OK"},
        {SERVER_HOLD, NULL                             }
    };
    struct probe p;

    (void)state;
    run(&p, script);
    assert_true(p.complete);
    assert_false(exchange_reusable(p.x));
    close_probe(&p);
}

static void assert_failed(struct probe *p, enum err_kind kind, const char *text)
{
    assert_int_equal(p->ends, 1);
    assert_false(p->complete);
    if (strstr(p->err.text, text) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", p->err.text, text);
    assert_ptr_equal(strstr(p->err.text, "127.0.0.1:"), p->err.text);
    assert_int_equal(p->err.kind, kind);
    close_probe(p);
}

static void test_connections_that_end_too_early(void **state)
{
    static const struct server_step silent[] = {
        {SERVER_READ,  NULL},
        {SERVER_CLOSE, NULL}
    };
    static const struct server_step cut[] = {
        {SERVER_READ,  NULL                 },
        {SERVER_SEND,  OK_CHUNKED "5\r\nhel"},
        {SERVER_CLOSE, NULL                 }
    };
    static const struct server_step half[] = {
        {SERVER_READ,       NULL                       },
        {SERVER_SEND,       OK_CHUNKED "5\r\nhello\r\n"},
        {SERVER_HALF_CLOSE, NULL                       },
        {SERVER_HOLD,       NULL                       }
    };
    struct probe p;

    (void)state;
    run(&p, silent);
    assert_failed(&p, ERR_CLOSED, "the server closed the connection, before it answered");
    run(&p, cut);
    assert_string_equal(buf_cstr(&p.body), "hel");
    assert_failed(&p, ERR_CLOSED, "closed the connection, in the middle of its response");
    run(&p, half);
    assert_string_equal(buf_cstr(&p.body), "hello");
    assert_failed(&p, ERR_CLOSED, "in the middle of its response");
}

static void go(void *arg, const char *data, size_t n)
{
    struct probe *p = arg;

    buf_append(&p->body, data, n);
    loop_stop(p->io.loop);
}

static void test_a_reset_in_the_middle(void **state)
{
    static const struct server_step script[] = {
        {SERVER_READ,  NULL                 },
        {SERVER_SEND,  OK_CHUNKED "5\r\nhel"},
        {SERVER_WAIT,  NULL                 },
        {SERVER_RESET, NULL                 }
    };
    static const struct exchange_events events = {on_head, go, on_end};
    const struct http_request get = {.method = "GET", .target = "/", .host = "api.test"};
    struct server *s = server_start_two(script, NULL, NULL);
    struct probe p;

    (void)state;
    open_probe(&p, s);
    p.params.request = &get;
    p.x = exchange_create(p.io.loop, p.io.conn, &p.params, &events, &p);
    loop_run(p.io.loop);
    assert_string_equal(buf_cstr(&p.body), "hel");
    server_go(s);
    loop_run(p.io.loop);
    assert_failed(&p, ERR_IO, "connection reset by peer, in the middle of its response");
    server_stop(&s);
}

static void run_held(struct probe *p, struct server *s, struct exchange_params params)
{
    open_probe(p, s);
    p->params = params;
    exchange(p);
}

static void test_each_deadline(void **state)
{
    static const struct server_step silent[] = {
        {SERVER_HOLD, NULL}
    };
    static const struct server_step stops[] = {
        {SERVER_READ, NULL                 },
        {SERVER_SEND, OK_CHUNKED "5\r\nhel"},
        {SERVER_HOLD, NULL                 }
    };
    struct server *s = server_start_two(silent, NULL, NULL);
    struct probe p;

    (void)state;
    run_held(&p, s, (struct exchange_params){.response_timeout_ms = 30});
    assert_false(exchange_heard(p.x));
    assert_failed(&p, ERR_TIMEOUT, "no response for 30 ms (response timeout)");
    server_stop(&s);
    s = server_start_two(stops, NULL, NULL);
    run_held(&p, s,
             (struct exchange_params){.response_timeout_ms = IO_PROBE_TIMEOUT_MS,
                                      .idle_timeout_ms = 30});
    assert_true(exchange_heard(p.x));
    assert_failed(&p, ERR_TIMEOUT, "the response stopped for 30 ms (idle timeout)");
    run_held(
        &p, s,
        (struct exchange_params){.idle_timeout_ms = IO_PROBE_TIMEOUT_MS, .hard_deadline_ms = 40});
    assert_failed(&p, ERR_TIMEOUT, "the response did not end within 40 ms (hard deadline)");
    run_held(&p, s, (struct exchange_params){.hard_deadline_ms = 20});
    assert_failed(&p, ERR_TIMEOUT, "hard deadline");
    server_stop(&s);
}

static void test_responses_that_are_not_http_or_too_big(void **state)
{
    static const struct server_step garbage[] = {
        {SERVER_READ, NULL                     },
        {SERVER_SEND, "SSH-2.0-OpenSSH_9.2\r\n"},
        {SERVER_HOLD, NULL                     }
    };
    static const struct server_step big[] = {
        {SERVER_READ,  NULL                            },
        {SERVER_SEND,  "HTTP/1.1 200 OK\r\n"           },
        {SERVER_FLOOD, "X-Filler: 0123456789abcdef\r\n"},
        {SERVER_HOLD,  NULL                            }
    };
    struct probe p;

    (void)state;
    run(&p, garbage);
    assert_failed(&p, ERR_PROTOCOL, "127.0.0.1:");
    run(&p, big);
    assert_int_equal(p.heads, 0);
    assert_failed(&p, ERR_PROTOCOL, "the head: more than the limit of 65536 bytes");
}

#define ENCODED(coding) \
    "HTTP/1.1 200 OK\r\nContent-Encoding: " coding "\r\nConnection: close\r\n\r\n"

/* run() with a request that accepts gzip. */
static void run_gzip(struct probe *p, const struct server_step *script)
{
    struct server *s = server_start_two(script, NULL, NULL);

    open_probe(p, s);
    p->server = s;
    p->gzip = true;
    exchange(p);
}

static void test_a_compressed_body_is_handed_out_decompressed(void **state)
{
    static const struct server_step script[] = {
        {SERVER_READ,       NULL              },
        {SERVER_SEND,       ENCODED("gzip")   },
        {SERVER_GZIP,       "hel"             },
        {SERVER_GZIP_FLOOD, "0123456789abcdef"},
        {SERVER_GZIP,       "lo"              },
        {SERVER_CLOSE,      NULL              }
    };
    struct probe p;

    (void)state;
    run_gzip(&p, script);
    assert_true(p.complete);
    assert_int_equal(p.body.len, 5 + 65536 * 16);
    assert_memory_equal(p.body.data, "hel0123", 7);
    assert_string_equal(buf_cstr(&p.body) + p.body.len - 5, "deflo");
    assert_non_null(strstr(server_request(p.server, 0), "\r\nAccept-Encoding: gzip\r\n"));
    close_probe(&p);
}

/* A server may compress any response. */
static void test_a_body_need_not_be_compressed(void **state)
{
    static const char *const codings[] = {"identity", "Identity ", ""};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(codings); i++) {
        char *text = mem_printf(ENCODED("%s") "hello", codings[i]);
        const struct server_step script[] = SERVER_SAYS(text, SERVER_CLOSE);
        struct probe p;

        run_gzip(&p, script);
        assert_true(p.complete);
        assert_string_equal(buf_cstr(&p.body), "hello");
        close_probe(&p);
        free(text);
    }
}

static void test_compressed_bodies_that_are_broken(void **state)
{
    static const struct {
        const char *then;
        const char *want;
    } cases[] = {
        {"\x1f\x8b\x08", "gzip: the body is cut short, after 5 bytes of content"  },
        {"{}",           "gzip: malformed behind member 1: incorrect header check"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct server_step script[] = {
            {SERVER_READ,  NULL             },
            {SERVER_SEND,  ENCODED("x-gzip")},
            {SERVER_GZIP,  "hello"          },
            {SERVER_SEND,  cases[i].then    },
            {SERVER_CLOSE, NULL             }
        };
        struct probe p;

        run_gzip(&p, script);
        assert_string_equal(buf_cstr(&p.body), "hello");
        assert_int_equal(p.heads, 1);
        assert_failed(&p, ERR_PROTOCOL, cases[i].want);
    }
}

static void test_a_coding_that_was_not_asked_for_is_named(void **state)
{
    static const struct {
        const char *coding;
        bool gzip;
    } cases[] = {
        {"gzip",       false},
        {"br",         false},
        {"br",         true },
        {"gzip, gzip", true },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char *text = mem_printf(ENCODED("%s") "hello", cases[i].coding);
        char *want = mem_printf("status 200 with Content-Encoding %s, which was not asked for",
                                cases[i].coding);
        const struct server_step script[] = SERVER_SAYS(text, SERVER_HOLD);
        struct server *s = server_start_two(script, NULL, NULL);
        struct probe p;

        open_probe(&p, s);
        p.server = s;
        p.gzip = cases[i].gzip;
        exchange(&p);
        assert_int_equal(p.heads, 0);
        assert_int_equal(p.err.code, 200);
        assert_failed(&p, ERR_PROTOCOL, want);
        free(text);
        free(want);
    }
}

static void test_dispose_in_any_callback(void **state)
{
    static const struct server_step script[] = {
        {SERVER_READ, NULL           },
        {SERVER_SEND, SERVER_OK_HELLO},
        {SERVER_HOLD, NULL           }
    };
    static const struct server_step packed[] = {
        {SERVER_READ,       NULL              },
        {SERVER_SEND,       ENCODED("gzip")   },
        {SERVER_GZIP_FLOOD, "0123456789abcdef"},
        {SERVER_CLOSE,      NULL              }
    };

    (void)state;
    for (int i = 0; i < 2 * WITH_CONN_AT_BODY; i++) {
        enum dispose where = AT_HEAD + i / 2;
        struct server *s = server_start_two(i % 2 == 0 ? script : packed, NULL, NULL);
        struct probe p;

        open_probe(&p, s);
        p.gzip = i % 2 == 1;
        p.dispose = where;
        exchange(&p);
        assert_null(p.x);
        assert_int_equal(p.ends, where == AT_END);
        close_probe(&p);
        server_stop(&s);
    }
}

static void test_dispose_before_any_answer(void **state)
{
    static const struct server_step script[] = {
        {SERVER_HOLD, NULL}
    };
    static const struct exchange_events events = {on_head, on_body, on_end};
    const struct http_request get = {.method = "GET", .target = "/", .host = "api.test"};
    struct server *s = server_start_two(script, NULL, NULL);
    struct probe p;

    (void)state;
    open_probe(&p, s);
    p.params.request = &get;
    p.calling = true;
    p.x = exchange_create(p.io.loop, p.io.conn, &p.params, &events, &p);
    exchange_dispose(&p.x);
    exchange_dispose(&p.x);
    close_probe(&p);
    server_stop(&s);
}

static void test_a_connection_that_is_lost_already(void **state)
{
    static const struct server_step script[] = {
        {SERVER_CLOSE, NULL}
    };
    struct server *s = server_start_two(script, NULL, NULL);
    struct probe p;

    (void)state;
    open_probe(&p, s);
    conn_set_events(p.io.conn, NULL, NULL);
    loop_run(p.io.loop);
    assert_int_equal(conn_state(p.io.conn), CONN_CLOSED);
    exchange(&p);
    assert_false(exchange_heard(p.x));
    assert_failed(&p, ERR_CLOSED, "before it answered");
    server_stop(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_response_and_then_another_on_the_same_connection),
        cmocka_unit_test(test_chunks_in_pieces),
        cmocka_unit_test(test_a_body_until_the_end_of_the_connection),
        cmocka_unit_test(test_bytes_behind_the_response_spoil_the_connection),
        cmocka_unit_test(test_connections_that_end_too_early),
        cmocka_unit_test(test_a_reset_in_the_middle),
        cmocka_unit_test(test_each_deadline),
        cmocka_unit_test(test_responses_that_are_not_http_or_too_big),
        cmocka_unit_test(test_a_compressed_body_is_handed_out_decompressed),
        cmocka_unit_test(test_a_body_need_not_be_compressed),
        cmocka_unit_test(test_compressed_bodies_that_are_broken),
        cmocka_unit_test(test_a_coding_that_was_not_asked_for_is_named),
        cmocka_unit_test(test_dispose_in_any_callback),
        cmocka_unit_test(test_dispose_before_any_answer),
        cmocka_unit_test(test_a_connection_that_is_lost_already),
    };

    alarm(PATIENCE_S);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
