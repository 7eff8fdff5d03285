/* SPDX-License-Identifier: Apache-2.0 */
/* proto/tls on an open connection: portions of any size, ends, damage, resumption. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "base/mem.h"
#include "tls_pair.h"

static struct tls_peer_id ca;
static struct tls_peer_id server_id;

static int make_ids(void **state)
{
    (void)state;
    tls_peer_issue(&ca, NULL, &(struct tls_peer_spec){.subject = "CN=test CA", .ca = true});
    tls_peer_issue(
        &server_id, &ca,
        &(struct tls_peer_spec){
            .subject = "CN=server", .dns = {"api.example", "other.example"},
                 .ips = {"10.0.0.1"            }
    });
    return 0;
}

static int drop_ids(void **state)
{
    (void)state;
    tls_peer_id_fini(&ca);
    tls_peer_id_fini(&server_id);
    return 0;
}

/* The library asks time() about certificates; the linker takes this one. */
static time_t clock_ahead_s;

time_t time(time_t *timer)
{
    struct timespec now = {0};

    clock_gettime(CLOCK_REALTIME, &now);
    now.tv_sec += clock_ahead_s;
    if (timer != NULL)
        *timer = now.tv_sec;
    return now.tv_sec;
}

/* A server, a context, and one open connection. */
struct world {
    struct tls_peer_server server;
    struct tls_ctx *ctx;
    struct tls_pair p;
};

static void begin(struct world *w, enum tls_peer_versions versions)
{
    tls_peer_server_init(&w->server, &server_id, NULL, versions);
    w->ctx = tls_pair_ctx(&ca, NULL);
    tls_pair_open(&w->p, &w->server, w->ctx, "api.example", NULL);
    assert_int_equal(w->p.result, TLS_OK);
}

static void end(struct world *w)
{
    tls_pair_fini(&w->p);
    tls_ctx_unref(&w->ctx);
    tls_peer_server_fini(&w->server);
}

static void test_handshake_in_portions(void **state)
{
    static const size_t steps[] = {1, 2, 3, 5, 7, 64, 999};

    (void)state;
    for (enum tls_peer_versions v = TLS_PEER_ALL; v <= TLS_PEER_1_2; v++) {
        struct world w;

        begin(&w, v);
        for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
            struct tls_pair p;
            struct buf got = {0};

            tls_pair_init(&p, &w.server, w.ctx, "10.0.0.1", NULL);
            tls_pair_shake(&p, steps[i]);
            assert_int_equal(p.result, TLS_OK);
            assert_string_equal(tls_version(p.t), tls_version(w.p.t));
            assert_int_equal(tls_pair_read(&p, &got), TLS_WANT);
            assert_int_equal(got.len, 0);
            tls_pair_fini(&p);
        }
        end(&w);
    }
}

/* More than a record holds, both ways, in one piece and in many. */
static void carry_both_ways(struct world *w, size_t n, size_t step)
{
    char *sent = mem_alloc(n);
    struct buf up = {0};
    struct buf down = {0};

    for (size_t i = 0; i < n; i++)
        sent[i] = (char)(i * 7 + i / 251);
    assert_int_equal(tls_write(w->p.t, sent, n, &w->p.err), TLS_OK);
    tls_peer_write(&w->p.peer, sent, n);
    while (tls_pair_carry(&w->p, step)) {
        assert_int_equal(tls_peer_read(&w->p.peer, &up), 0);
        assert_int_equal(tls_pair_read(&w->p, &down), TLS_WANT);
    }
    assert_int_equal(up.len, n);
    assert_int_equal(down.len, n);
    assert_memory_equal(up.data, sent, n);
    assert_memory_equal(down.data, sent, n);
    assert_int_equal(tls_out(w->p.t).n, 0);
    buf_free(&up);
    buf_free(&down);
    free(sent);
}

static void test_data_both_ways(void **state)
{
    (void)state;
    for (enum tls_peer_versions v = TLS_PEER_ALL; v <= TLS_PEER_1_2; v++) {
        struct world w;

        begin(&w, v);
        carry_both_ways(&w, 1, TLS_PAIR_ALL);
        carry_both_ways(&w, 100000, TLS_PAIR_ALL);
        carry_both_ways(&w, 100000, 1000);
        carry_both_ways(&w, 16384, 1);
        end(&w);
    }
}

/* Writes pile up in tls_out() until they are taken, in order. */
static void test_writes_add_up(void **state)
{
    struct world w;
    struct buf up = {0};

    (void)state;
    begin(&w, TLS_PEER_ALL);
    assert_int_equal(tls_write(w.p.t, "one ", 4, NULL), TLS_OK);
    size_t first = tls_out(w.p.t).n;
    assert_int_equal(tls_write(w.p.t, "", 0, NULL), TLS_OK);
    assert_int_equal(tls_write(w.p.t, "two", 3, NULL), TLS_OK);
    assert_true(tls_out(w.p.t).n > first);
    tls_pair_carry(&w.p, TLS_PAIR_ALL);
    assert_int_equal(tls_peer_read(&w.p.peer, &up), 0);
    assert_true(str_is(buf_str(&up), "one two"));
    buf_free(&up);
    end(&w);
}

static void test_close_notify_of_the_peer(void **state)
{
    (void)state;
    for (enum tls_peer_versions v = TLS_PEER_ALL; v <= TLS_PEER_1_2; v++) {
        struct world w;
        struct buf got = {0};

        begin(&w, v);
        tls_peer_write(&w.p.peer, "last words", 10);
        assert_int_equal(mbedtls_ssl_close_notify(&w.p.peer.ssl), 0);
        tls_pair_carry(&w.p, TLS_PAIR_ALL);
        assert_int_equal(tls_pair_read(&w.p, &got), TLS_CLOSED);
        assert_true(str_is(buf_str(&got), "last words"));
        assert_int_equal(tls_pair_read(&w.p, &got), TLS_CLOSED);
        assert_int_equal(tls_write(w.p.t, "x", 1, NULL), TLS_CLOSED);
        buf_free(&got);
        end(&w);
    }
}

/* The engine does not see an end of the connection without close_notify: it only wants more
 * bytes. */
static void test_truncation(void **state)
{
    struct world w;
    struct buf got = {0};

    (void)state;
    begin(&w, TLS_PEER_ALL);
    tls_peer_write(&w.p.peer, "half", 4);
    w.p.peer.out.len -= 3;
    tls_pair_carry(&w.p, TLS_PAIR_ALL);
    assert_int_equal(tls_pair_read(&w.p, &got), TLS_WANT);
    assert_int_equal(got.len, 0);
    buf_free(&got);
    end(&w);
}

static void test_our_close_notify(void **state)
{
    struct world w;
    struct buf up = {0};

    (void)state;
    begin(&w, TLS_PEER_ALL);
    tls_close(w.p.t);
    tls_pair_carry(&w.p, TLS_PAIR_ALL);
    assert_int_equal(tls_peer_read(&w.p.peer, &up), MBEDTLS_ERR_SSL_PEER_CLOSE_NOTIFY);
    end(&w);
}

static void test_damaged_record(void **state)
{
    struct world w;
    struct buf got = {0};

    (void)state;
    begin(&w, TLS_PEER_ALL);
    tls_pair_carry(&w.p, TLS_PAIR_ALL);
    tls_peer_write(&w.p.peer, "bytes", 5);
    w.p.peer.out.data[w.p.peer.out.len - 1] ^= 1;
    tls_pair_carry(&w.p, TLS_PAIR_ALL);
    assert_int_equal(tls_pair_read(&w.p, &got), TLS_FAILED);
    assert_int_equal(w.p.err.kind, ERR_TLS);
    assert_non_null(strstr(w.p.err.text, "TLS with api.example: "));
    assert_int_equal(got.len, 0);
    end(&w);
}

/* Only TLS 1.2 has it. The data before the wish counts, the data behind it does not. */
static void test_a_renegotiation_is_refused(void **state)
{
    struct world w;
    struct buf got = {0};

    (void)state;
    begin(&w, TLS_PEER_1_2);
    mbedtls_ssl_conf_renegotiation(&w.server.conf, MBEDTLS_SSL_RENEGOTIATION_ENABLED);
    tls_peer_write(&w.p.peer, "before", 6);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(mbedtls_ssl_renegotiate(&w.p.peer.ssl), 0);
    tls_peer_write(&w.p.peer, "behind", 6);
    tls_pair_carry(&w.p, TLS_PAIR_ALL);
    assert_int_equal(tls_pair_read(&w.p, &got), TLS_FAILED);
    assert_true(str_is(buf_str(&got), "before"));
    assert_int_equal(w.p.err.kind, ERR_TLS);
    assert_string_equal(
        w.p.err.text,
        "TLS with api.example: the server wants to renegotiate, which is refused; if "
        "it is to ask for a client certificate, have it do so in the first handshake");
    buf_free(&got);
    end(&w);
}

/* Gives the engine an answer that is no TLS, whole and byte by byte. */
static void try_foreign(struct tls_ctx *ctx, const char *answer, const char *text)
{
    for (size_t step = 1; step <= strlen(answer); step += strlen(answer) - 1) {
        struct tls *t = tls_create(ctx, "api.example", NULL);
        struct err err = {0};
        enum tls_result r = tls_handshake(t, &err);

        for (size_t at = 0; r == TLS_WANT && at + step <= strlen(answer); at += step) {
            tls_feed(t, answer + at, step);
            r = tls_handshake(t, &err);
        }
        assert_int_equal(r, TLS_FAILED);
        assert_string_equal(err.text, text);
        tls_destroy(&t);
    }
}

static void test_peers_that_do_not_speak_tls(void **state)
{
    struct tls_ctx *ctx = tls_pair_ctx(&ca, NULL);

    (void)state;
    try_foreign(ctx, "HTTP/1.0 400 Bad Request\r\n\r\nClient sent",
                "TLS handshake with api.example: the peer does not speak TLS (it answered in plain "
                "HTTP); check the port, and https:// in the address");
    try_foreign(ctx, "S\x1b\"H2.0 and so on",
                "TLS handshake with api.example: the peer does not speak TLS (its answer begins "
                "\"S??H2\"); check the port, and https:// in the address");
    tls_ctx_unref(&ctx);
}

static void test_names_that_cannot_be_used(void **state)
{
    struct tls_ctx *ctx = tls_pair_ctx(&ca, NULL);
    char longest[400];

    (void)state;
    memset(longest, 'a', sizeof(longest));
    longest[sizeof(longest) - 1] = '\0';
    for (const char *name = longest; name != NULL; name = *name != '\0' ? "" : NULL) {
        struct tls *t = tls_create(ctx, name, NULL);
        struct err err = {0};

        assert_int_equal(tls_handshake(t, &err), TLS_FAILED);
        assert_non_null(strstr(err.text, "the server name is empty or too long"));
        assert_int_equal(tls_out(t).n, 0);
        tls_destroy(&t);
    }
    tls_ctx_unref(&ctx);
}

/* The session of an open connection; TLS 1.3 gives it when something is read. */
static struct tls_session *session_of(struct tls_pair *p)
{
    struct buf got = {0};

    if (strcmp(tls_version(p->t), "TLSv1.3") == 0)
        assert_null(tls_take_session(p->t));
    tls_peer_write(&p->peer, "x", 1);
    tls_pair_carry(p, TLS_PAIR_ALL);
    assert_int_equal(tls_pair_read(p, &got), TLS_WANT);
    assert_true(str_is(buf_str(&got), "x"));
    buf_free(&got);
    return tls_take_session(p->t);
}

/* Opens one more connection that offers s; was it resumed? */
static bool resumes(struct world *w, struct tls_ctx *ctx, const char *name,
                    const struct tls_session *s)
{
    struct tls_pair p;
    struct buf got = {0};

    tls_pair_open(&p, &w->server, ctx, name, s);
    assert_int_equal(p.result, TLS_OK);
    assert_int_equal(tls_pair_read(&p, &got), TLS_WANT);
    bool yes = tls_resumed(p.t);

    tls_pair_fini(&p);
    return yes;
}

static void test_resumption(void **state)
{
    (void)state;
    for (enum tls_peer_versions v = TLS_PEER_ALL; v <= TLS_PEER_1_2; v++) {
        struct world w;

        begin(&w, v);
        assert_false(tls_resumed(w.p.t));
        struct tls_session *s = session_of(&w.p);

        assert_non_null(s);
        assert_null(tls_take_session(w.p.t));
        assert_true(resumes(&w, w.ctx, "api.example", s));
        assert_true(resumes(&w, w.ctx, "api.example.", s)); /* s is only borrowed: once more */
        tls_session_free(&s);
        assert_null(s);
        end(&w);
    }
}

/* Tickets of TLS 1.3 come behind the handshake: the first request may be written when a ticket was
 * read and not yet looked at. */
static void test_a_ticket_before_the_first_request_is_no_error(void **state)
{
    (void)state;
    for (enum tls_peer_versions v = TLS_PEER_ALL; v <= TLS_PEER_1_2; v++) {
        struct world w;
        struct buf got = {0};
        struct err err = {0};

        begin(&w, v);
        assert_int_equal(tls_pair_read(&w.p, &got), TLS_WANT);
        assert_int_equal(tls_write(w.p.t, "hello", 5, &err), TLS_OK);
        buf_free(&got);
        end(&w);
    }
}

/* A resumption verifies no certificate, so a session may only be used for the same server name and
 * settings. */
static void test_session_of_another(void **state)
{
    (void)state;
    for (enum tls_peer_versions v = TLS_PEER_ALL; v <= TLS_PEER_1_2; v++) {
        struct world w;
        struct tls_ctx *twin = tls_pair_ctx(&ca, NULL);

        begin(&w, v);
        struct tls_session *s = session_of(&w.p);

        assert_false(resumes(&w, w.ctx, "other.example", s));
        assert_false(resumes(&w, w.ctx, "10.0.0.1", s));
        assert_false(resumes(&w, twin, "api.example", s));
        tls_ctx_unref(&twin);
        end(&w); /* a session outlives the connection, and the last reference to its context */
        tls_session_free(&s);
    }
}

/* The server would take the session, but its certificate has expired since. */
static void test_session_of_an_expired_certificate(void **state)
{
    struct tls_peer_id brief;
    char till[32];
    struct tm tm;
    time_t end_s = time(NULL) + 600;

    (void)state;
    strftime(till, sizeof(till), "%Y%m%d%H%M%S", gmtime_r(&end_s, &tm));
    tls_peer_issue(&brief, &ca,
                   &(struct tls_peer_spec){.subject = "CN=a", .dns = {"a"}, .till = till});
    for (enum tls_peer_versions v = TLS_PEER_ALL; v <= TLS_PEER_1_2; v++) {
        struct tls_peer_server server;
        struct tls_ctx *ctx = tls_pair_ctx(&ca, NULL);
        struct tls_pair first;
        struct tls_pair second;

        tls_peer_server_init(&server, &brief, NULL, v);
        tls_pair_open(&first, &server, ctx, "a", NULL);
        assert_int_equal(first.result, TLS_OK);
        struct tls_session *s = session_of(&first);

        clock_ahead_s = 1200;
        tls_pair_open(&second, &server, ctx, "a", s);
        clock_ahead_s = 0;
        assert_int_equal(second.result, TLS_FAILED);
        assert_non_null(strstr(second.err.text, " expired on "));
        tls_session_free(&s);
        tls_pair_fini(&first);
        tls_pair_fini(&second);
        tls_ctx_unref(&ctx);
        tls_peer_server_fini(&server);
    }
    tls_peer_id_fini(&brief);
}

/* A server that has forgotten its tickets: a full handshake, and a new session. */
static void test_session_that_the_server_refuses(void **state)
{
    (void)state;
    for (enum tls_peer_versions v = TLS_PEER_ALL; v <= TLS_PEER_1_2; v++) {
        struct world old;
        struct world w;
        struct tls_pair p;

        begin(&old, v);
        struct tls_session *s = session_of(&old.p);

        begin(&w, v);
        tls_pair_open(&p, &w.server, old.ctx, "api.example", s);
        assert_int_equal(p.result, TLS_OK);
        assert_false(tls_resumed(p.t));
        tls_session_free(&s);
        s = session_of(&p);
        assert_non_null(s);
        tls_session_free(&s);
        tls_pair_fini(&p);
        end(&w);
        end(&old);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_handshake_in_portions),
        cmocka_unit_test(test_data_both_ways),
        cmocka_unit_test(test_writes_add_up),
        cmocka_unit_test(test_close_notify_of_the_peer),
        cmocka_unit_test(test_truncation),
        cmocka_unit_test(test_our_close_notify),
        cmocka_unit_test(test_damaged_record),
        cmocka_unit_test(test_a_renegotiation_is_refused),
        cmocka_unit_test(test_peers_that_do_not_speak_tls),
        cmocka_unit_test(test_names_that_cannot_be_used),
        cmocka_unit_test(test_resumption),
        cmocka_unit_test(test_a_ticket_before_the_first_request_is_no_error),
        cmocka_unit_test(test_session_of_another),
        cmocka_unit_test(test_session_of_an_expired_certificate),
        cmocka_unit_test(test_session_that_the_server_refuses),
    };

    return cmocka_run_group_tests(tests, make_ids, drop_ids);
}
