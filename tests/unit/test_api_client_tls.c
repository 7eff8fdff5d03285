/* SPDX-License-Identifier: Apache-2.0 */
/* io/api_client over TLS: one connection leads, the others resume its session or fail with it. */
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
#include "io/tls_session_cache.h"
#include "io_probe.h"
#include "loop_until.h"
#include "play_clock.h"
#include "proto/tls.h"
#include "request_probe.h"
#include "server.h"
#include "tls_pair.h"

enum { N = 16 };

static const struct server_step hang_up[] = {
    {SERVER_READ,  NULL},
    {SERVER_CLOSE, NULL}
};
static const struct server_step hold[] = {
    {SERVER_HOLD, NULL}
};

static void start_all(struct client_probe *p)
{
    for (unsigned i = 0; i < N; i++)
        client_probe_start(p, i, false, "/watch");
}

static void dispose_all(struct client_probe *p)
{
    for (unsigned i = 0; i < N; i++)
        request_dispose(&p->rq[i].r);
}

/* Each full handshake makes another number of the server process, a resumed session keeps it. */
static void assert_same_peer(const struct client_probe *p)
{
    for (unsigned i = 0; i < N; i++)
        assert_int_equal(request_peer(p->rq[i].r), request_peer(p->rq[0].r));
    assert_int_not_equal(request_peer(p->rq[0].r), 0);
}

/* Makes one request, and returns which process has answered. */
static uint64_t peer_of_one(struct client_probe *p)
{
    client_probe_start(p, 0, true, "/x");
    client_probe_run(p, 1);
    uint64_t peer = request_peer(p->rq[0].r);

    request_dispose(&p->rq[0].r);
    return peer;
}

static void assert_all_ok(const struct client_probe *p)
{
    for (unsigned i = 0; i < N; i++)
        if (p->rq[i].ends != 1 || !p->rq[i].complete)
            fail_msg("request %u: %s", i, p->rq[i].err.text);
}

static void test_many_watches_make_one_full_handshake(void **state)
{
    struct io_tls *t = *state;
    struct server *s = server_start_two(server_hello_later, NULL, &t->server);
    struct client_probe p;

    client_probe_init(&p, "https", server_port(s), 1);
    client_probe_set_tls(&p, t->ctx);
    start_all(&p);
    for (unsigned i = 0; i < N; i++)
        server_go(s);
    client_probe_run(&p, N);
    assert_all_ok(&p);
    assert_true(server_connections(s) > 1);
    assert_same_peer(&p);
    client_probe_fini(&p);
    server_stop(&s);
}

/* The other server does not know the session tickets of the first: one more full handshake. */
static void test_a_server_that_forgot_the_session_costs_one_more(void **state)
{
    struct io_tls *t = *state;
    struct server *s = server_start_two(server_hello, NULL, &t->server);
    struct tls_peer_server again;
    struct client_probe p;
    uint16_t port = server_port(s);

    client_probe_init(&p, "https", port, 1);
    client_probe_set_tls(&p, t->ctx);
    uint64_t first = peer_of_one(&p);
    server_stop(&s);
    client_probe_do(&p, 0, false, "/down");
    assert_int_equal(p.rq[0].complete, false);

    tls_peer_server_init(&again, &t->id, NULL, TLS_PEER_ALL);
    static const struct server_step *scripts[] = {server_hello_later, NULL};

    s = server_start(&(struct server_params){.port = port, .tls = &again, .scripts = scripts});
    start_all(&p);
    for (unsigned i = 0; i < N; i++)
        server_go(s);
    client_probe_run(&p, N);
    assert_all_ok(&p);
    assert_same_peer(&p);
    assert_int_not_equal(request_peer(p.rq[0].r), first);
    client_probe_fini(&p);
    server_stop(&s);
    tls_peer_server_fini(&again);
}

static void assert_all_fail(struct client_probe *p, enum err_kind kind)
{
    start_all(p);
    client_probe_run(p, N);
    for (unsigned i = 0; i < N; i++) {
        assert_int_equal(p->rq[i].ends, 1);
        assert_int_equal(p->rq[i].err.kind, kind);
        assert_string_equal(p->rq[i].err.text, p->rq[0].err.text);
    }
    dispose_all(p);
}

static void test_the_authorization_and_the_headers_of_a_request(void **state)
{
    struct io_tls *t = *state;
    struct server *s = server_start_two(server_hello, NULL, &t->server);
    struct client_probe p;
    char url[64];

    client_probe_init(&p, "https", server_port(s), 1);
    api_client_dispose(&p.client);
    (void)snprintf(url, sizeof(url), "https://127.0.0.1:%u", (unsigned)server_port(s));
    p.params.headers = "Impersonate-User: ann\r\n";
    client_probe_make(&p, url);
    client_probe_set_tls(&p, t->ctx);
    api_client_set_authorization(p.client, 0, "Bearer t1");
    client_probe_do(&p, 0, true, "/x");
    assert_non_null(strstr(server_request(s, 0), "\r\nAuthorization: Bearer t1\r\n"));
    assert_non_null(strstr(server_request(s, 0), "\r\nImpersonate-User: ann\r\n"));
    api_client_set_authorization(p.client, 0, "Basic dTpw");
    client_probe_do(&p, 0, false, "/w");
    assert_non_null(strstr(server_request(s, 1), "\r\nAuthorization: Basic dTpw\r\n"));
    api_client_set_authorization(p.client, 0, NULL);
    client_probe_do(&p, 0, false, "/w");
    assert_null(strstr(server_request(s, 2), "Authorization"));
    client_probe_fini(&p);
    server_stop(&s);
}

static void test_waiting_requests_fail_with_the_leading_one(void **state)
{
    struct io_tls *t = *state;
    struct tls_peer_id other;
    struct server *s = server_start_two(server_hello, NULL, &t->server);
    struct client_probe p;

    tls_peer_issue(&other, NULL, &(struct tls_peer_spec){.subject = "CN=other CA", .ca = true});
    struct tls_ctx *ctx = tls_pair_ctx(&other, NULL);

    client_probe_init(&p, "https", server_port(s), 1);
    client_probe_set_tls(&p, ctx);
    assert_all_fail(&p, ERR_TLS);
    assert_int_equal(server_accepted(s), 1);
    assert_all_fail(&p, ERR_TLS);
    assert_int_equal(server_accepted(s), 2);
    client_probe_set_tls(&p, t->ctx);
    client_probe_do(&p, 0, false, "/x");
    assert_true(p.rq[0].complete);
    client_probe_fini(&p);
    server_stop(&s);
    tls_ctx_unref(&ctx);
    tls_peer_id_fini(&other);
}

static void test_a_refusal_is_shared_too(void **state)
{
    struct io_tls *t = *state;
    struct client_probe p;
    int fd;

    client_probe_init(&p, "https", server_refusing_port(&fd), 1);
    client_probe_set_tls(&p, t->ctx);
    assert_all_fail(&p, ERR_REFUSED);
    client_probe_fini(&p);
    close(fd);
}

/* Disposes a request after a few turns. */
struct killer {
    struct request **victim;
    struct loop *loop;
    struct loop_task turn;
    int turns;
};

static void on_turn(struct loop_task *task)
{
    struct killer *k = container_of(task, struct killer, turn);

    if (--k->turns == 0)
        request_dispose(k->victim);
    else
        loop_defer(k->loop, task);
}

static void test_the_lead_passes_on_when_the_leader_is_disposed(void **state)
{
    struct io_tls *t = *state;
    struct server *s = server_start_two(server_hello, NULL, &t->server);
    struct client_probe p;

    client_probe_init(&p, "https", server_port(s), 1);
    client_probe_set_tls(&p, t->ctx);
    client_probe_start(&p, N, false, "/leads");
    start_all(&p);
    struct killer k = {.victim = &p.rq[N].r, .loop = p.loop, .turns = 2};

    loop_task_init(&k.turn, on_turn);
    loop_defer(p.loop, &k.turn);
    client_probe_run(&p, N);
    assert_null(p.rq[N].r);
    assert_int_equal(p.rq[N].ends, 0);
    assert_all_ok(&p);
    assert_same_peer(&p);
    client_probe_fini(&p);
    server_stop(&s);
}

/* A session was made with one certificate, key and CA. Resumed with others, it would show the server
 * a client that it does not name any more, or trust a server that the new CA does not know. */
static void test_new_certificates_end_the_session_and_idle_connections(void **state)
{
    struct io_tls *t = *state;
    struct server *s = server_start_two(server_hello, NULL, &t->server);
    struct tls_peer_id one;
    struct tls_peer_id two;
    struct client_probe p;
    unsigned connections = 1;

    tls_peer_issue(&one, &t->ca, &(struct tls_peer_spec){.subject = "CN=client"});
    tls_peer_issue(&two, &t->ca, &(struct tls_peer_spec){.subject = "CN=client"});
    struct tls_ctx *contexts[] = {
        tls_pair_ctx(&t->ca, NULL), /* the same CA, read again */
        tls_pair_ctx(&t->ca, &one), /* a client certificate */
        tls_pair_ctx(&t->ca, &two), /* another certificate and key for the same name */
    };
    client_probe_init(&p, "https", server_port(s), 1);
    client_probe_set_tls(&p, t->ctx);
    uint64_t last = peer_of_one(&p);
    assert_int_equal(peer_of_one(&p), last);
    assert_int_equal(server_connections(s), connections);
    for (size_t i = 0; i < ARRAY_LEN(contexts); i++) {
        client_probe_set_tls(&p, contexts[i]);
        uint64_t now = peer_of_one(&p);

        assert_true(p.rq[0].complete);
        assert_int_not_equal(now, last); /* no session was resumed */
        assert_int_equal(server_connections(s), ++connections);
        last = now;
        tls_ctx_unref(&contexts[i]);
    }
    client_probe_set_tls(&p, NULL);
    client_probe_do(&p, 0, true, "/x");
    assert_int_equal(p.rq[0].err.kind, ERR_CREDENTIAL);
    client_probe_fini(&p);
    server_stop(&s);
    tls_peer_id_fini(&one);
    tls_peer_id_fini(&two);
}

/* The script of a connection that answers so after a server_go(). */
#define WHEN_TOLD(status)                                                              \
    {                                                                                  \
        {SERVER_READ, NULL}, {SERVER_WAIT, NULL}, {SERVER_SEND, SERVER_EMPTY(status)}, \
        {                                                                              \
            SERVER_CLOSE, NULL                                                         \
        }                                                                              \
    }
static const struct server_step unauthorized_when_told[] = WHEN_TOLD("401 Unauthorized");
static const struct server_step forbidden_when_told[] = WHEN_TOLD("403 Forbidden");

struct renewal {
    struct client_probe *p;
    struct server *s;
    struct tls_ctx *ctx; /* NULL = the one before stays */
    const char *value;   /* of the header; NULL = the one before stays */
    struct loop_task turn;
};

/* Sets the new credentials once the request is at the server, which refuses it then. */
static void on_renewal_turn(struct loop_task *task)
{
    struct renewal *r = container_of(task, struct renewal, turn);

    if (server_requests(r->s) == 0) {
        loop_defer(r->p->loop, task);
        return;
    }
    if (r->ctx != NULL)
        api_client_set_tls(r->p->client, 0, r->ctx);
    if (r->value != NULL)
        api_client_set_authorization(r->p->client, 0, r->value);
    server_go(r->s);
}

/* Does request 0, which the server refuses after these credentials were set. Its later connections
 * follow the script `later`. Returns the server. */
static struct server *refuse_late(struct io_tls *t, struct client_probe *p,
                                  const struct server_step *refuse, const struct server_step *later,
                                  struct tls_ctx *ctx, const char *value)
{
    struct server *s = server_start_two(refuse, later, &t->server);
    struct renewal r = {.p = p, .s = s, .ctx = ctx, .value = value};

    client_probe_init(p, "https", server_port(s), 1);
    api_client_set_tls(p->client, 0, t->ctx);
    api_client_set_authorization(p->client, 0, "Bearer t1");
    loop_task_init(&r.turn, on_renewal_turn);
    loop_defer(p->loop, &r.turn);
    client_probe_do(p, 0, true, "/x");
    return s;
}

static void test_a_401_for_an_earlier_token_is_asked_again(void **state)
{
    struct client_probe p;
    struct server *s =
        refuse_late(*state, &p, unauthorized_when_told, server_hello, NULL, "Bearer t2");

    assert_int_equal(p.rq[0].heads, 1);
    assert_int_equal(p.rq[0].status, 200);
    assert_int_equal(server_requests(s), 2);
    assert_non_null(strstr(server_request(s, 0), "Bearer t1\r\n"));
    assert_non_null(strstr(server_request(s, 1), "Bearer t2\r\n"));
    client_probe_do(&p, 1, true, "/y"); /* the gate has its place again */
    assert_int_equal(p.rq[1].status, 200);
    client_probe_fini(&p);
    server_stop(&s);
}

static void test_a_401_for_an_earlier_certificate_is_asked_again(void **state)
{
    struct io_tls *t = *state;
    struct tls_ctx *renewed = tls_pair_ctx(&t->ca, NULL);
    struct client_probe p;
    struct server *s = refuse_late(t, &p, unauthorized_when_told, server_hello, renewed, NULL);

    assert_int_equal(p.rq[0].status, 200);
    assert_int_equal(server_requests(s), 2);
    client_probe_fini(&p);
    server_stop(&s);
    tls_ctx_unref(&renewed);
}

#define TELLS SERVER_OK_HEAD "{\"metadata\":{\"resourceVersion\":\"9\"},\"items\":[]}"

static bool of_the_right_cluster(void *arg, const struct cluster_identity_answer *answer,
                                 int status, struct err *err)
{
    (void)arg;
    (void)answer;
    (void)status;
    (void)err;
    return true;
}

/* A client that asks servers which cluster they are, with this pause between two questions. */
static void set_up_asking(struct client_probe *p, const struct server *s, struct tls_ctx *ctx,
                          uint64_t interval_ms)
{
    char url[64];

    client_probe_init(p, "https", server_port(s), 1);
    api_client_dispose(&p->client);
    (void)snprintf(url, sizeof(url), "https://127.0.0.1:%u", (unsigned)server_port(s));
    p->params.judge = of_the_right_cluster;
    p->params.question_interval_ms = interval_ms;
    client_probe_make(p, url);
    client_probe_set_tls(p, ctx);
}

static bool three_have_connected(void *arg)
{
    return server_connections(arg) == 3;
}

/* After an API server was restarted, many watches wait to ask which cluster it is, and one has
 * asked. The server refuses the certificate of their connections, and that is renewed: the others
 * must not be refused one after the other. */
static void test_requests_that_wait_to_ask_do_so_with_new_certificates(void **state)
{
    static const struct server_step refuses_later[] = {
        {SERVER_READ,  NULL                            },
        {SERVER_WAIT,  NULL                            },
        {SERVER_SEND,  SERVER_EMPTY("401 Unauthorized")},
        {SERVER_CLOSE, NULL                            }
    };
    static const struct server_step refuses[] =
        SERVER_SAYS(SERVER_EMPTY("401 Unauthorized"), SERVER_CLOSE);
    static const struct server_step tells[] = SERVER_SAYS(TELLS, SERVER_CLOSE);
    struct io_tls *t = *state;
    struct tls_peer_server old;
    struct tls_ctx *renewed = tls_pair_ctx(&t->ca, NULL);
    struct client_probe p;

    /* With TLS 1.2 the handshake brings the session that the others wait for. */
    tls_peer_server_init(&old, &t->id, NULL, TLS_PEER_1_2);
    struct server *s = server_start(&(struct server_params){
        .tls = &old, .scripts = SERVER_SCRIPTS(refuses_later, refuses, refuses, tells)});
    set_up_asking(&p, s, t->ctx, 0);
    for (unsigned i = 0; i < 3; i++)
        client_probe_follow(&p, i, 8);
    loop_until(p.loop, three_have_connected, s);
    client_probe_set_tls(&p, renewed);
    server_go(s);
    client_probe_run(&p, 3);
    for (unsigned i = 0; i < 3; i++) {
        assert_true(p.rq[i].complete);
        assert_string_equal(p.rq[i].revisions, "9 ");
    }
    client_probe_fini(&p);
    server_stop(&s);
    tls_peer_server_fini(&old);
    tls_ctx_unref(&renewed);
}

static void test_only_a_401_is_asked_again(void **state)
{
    struct client_probe p;
    struct server *s =
        refuse_late(*state, &p, forbidden_when_told, server_hello, NULL, "Bearer t2");

    assert_int_equal(p.rq[0].status, 403);
    assert_int_equal(server_requests(s), 1);
    client_probe_fini(&p);
    server_stop(&s);
}

static void test_a_401_for_the_credentials_of_now_is_told(void **state)
{
    static const struct server_step again[] =
        SERVER_SAYS(SERVER_EMPTY("401 Unauthorized"), SERVER_CLOSE);
    struct client_probe p;
    struct server *s = refuse_late(*state, &p, unauthorized_when_told, again, NULL, "Bearer t2");

    assert_int_equal(p.rq[0].status, 401);
    assert_int_equal(server_requests(s), 2);
    client_probe_do(&p, 1, true, "/y");
    assert_int_equal(p.rq[1].status, 401);
    assert_int_equal(server_requests(s), 3);
    client_probe_fini(&p);
    server_stop(&s);
}

/* A list is proven by an answer of the process that sent it, which a new connection might miss. */
static void test_a_question_about_one_process_keeps_its_connection(void **state)
{
    static const struct server_step tells[] = SERVER_SAYS(TELLS, SERVER_CLOSE);
    static const struct server_step lists[] = {
        {SERVER_READ,  NULL           },
        {SERVER_SEND,  SERVER_OK_HELLO},
        {SERVER_READ,  NULL           },
        {SERVER_SEND,  TELLS          },
        {SERVER_CLOSE, NULL           }
    };
    enum { INTERVAL_MS = 1000 };
    struct io_tls *t = *state;
    struct server *s = server_start(&(struct server_params){
        .tls = &t->server, .scripts = SERVER_SCRIPTS(tells, lists, server_hello)});
    struct tls_ctx *renewed = tls_pair_ctx(&t->ca, NULL);
    struct client_probe p;

    set_up_asking(&p, s, t->ctx, INTERVAL_MS);
    client_probe_follow(&p, 0, 8);
    client_probe_run(&p, 1);
    client_probe_identify(&p, 1, request_peer(p.rq[0].r));
    client_probe_set_tls(&p, renewed);
    play_clock_pass(INTERVAL_MS);
    client_probe_run(&p, 1);
    assert_true(p.rq[1].complete);
    assert_int_equal(server_connections(s), 2);
    client_probe_fini(&p);
    server_stop(&s);
    tls_ctx_unref(&renewed);
}

static void test_a_silent_server_and_one_that_hangs_up(void **state)
{
    struct io_tls *t = *state;
    struct server *s = server_start_two(hold, NULL, NULL);
    struct client_probe p;

    client_probe_init(&p, "https", server_port(s), 1);
    client_probe_set_tls(&p, t->ctx);
    start_all(&p); /* until tls_timeout: nothing comes */
    dispose_all(&p);
    client_probe_fini(&p);
    server_stop(&s);

    s = server_start_two(hang_up, NULL, &t->server);
    client_probe_init(&p, "https", server_port(s), 1);
    client_probe_set_tls(&p, t->ctx);
    client_probe_do(&p, 0, true, "/x");
    assert_int_equal(p.rq[0].err.kind, ERR_CLOSED);
    client_probe_fini(&p);
    server_stop(&s);
}

static void test_which_request_may_shake_hands(void **state)
{
    struct io_tls *t = *state;
    struct tls_session_cache s = {0};
    const int a = 0, b = 0;

    tls_session_cache_set_ctx(&s, t->ctx);
    assert_true(tls_session_cache_enter(&s, &a));
    assert_false(tls_session_cache_enter(&s, &b));
    assert_false(tls_session_cache_leave(&s, &b));
    assert_true(tls_session_cache_leave(&s, &a)); /* the handshake of a failed */
    assert_true(tls_session_cache_enter(&s, &b));
    tls_session_cache_missing(&s, &a); /* a leads no longer */
    assert_false(tls_session_cache_enter(&s, &a));
    tls_session_cache_missing(&s, &b); /* the server gives no session: no request waits for one */
    assert_true(tls_session_cache_enter(&s, &a));
    assert_true(tls_session_cache_enter(&s, &b));
    assert_null(s.leader);
    tls_session_cache_set_ctx(&s, t->ctx);
    assert_true(tls_session_cache_enter(&s, &a));
    assert_false(tls_session_cache_enter(&s, &b));
    tls_session_cache_resumed(&s, NULL); /* with another identity */
    assert_false(tls_session_cache_enter(&s, &b));
    tls_session_cache_resumed(&s, t->ctx);
    assert_true(tls_session_cache_enter(&s, &a));
    assert_true(tls_session_cache_enter(&s, &b));
    tls_session_cache_doubt(&s);
    assert_true(tls_session_cache_enter(&s, &b));
    assert_false(tls_session_cache_enter(&s, &a));
    tls_session_cache_set_ctx(&s, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_many_watches_make_one_full_handshake),
        cmocka_unit_test(test_a_server_that_forgot_the_session_costs_one_more),
        cmocka_unit_test(test_the_authorization_and_the_headers_of_a_request),
        cmocka_unit_test(test_waiting_requests_fail_with_the_leading_one),
        cmocka_unit_test(test_a_refusal_is_shared_too),
        cmocka_unit_test(test_the_lead_passes_on_when_the_leader_is_disposed),
        cmocka_unit_test(test_new_certificates_end_the_session_and_idle_connections),
        cmocka_unit_test(test_a_401_for_an_earlier_token_is_asked_again),
        cmocka_unit_test(test_a_401_for_an_earlier_certificate_is_asked_again),
        cmocka_unit_test(test_only_a_401_is_asked_again),
        cmocka_unit_test(test_a_401_for_the_credentials_of_now_is_told),
        cmocka_unit_test(test_requests_that_wait_to_ask_do_so_with_new_certificates),
        cmocka_unit_test(test_a_question_about_one_process_keeps_its_connection),
        cmocka_unit_test(test_a_silent_server_and_one_that_hangs_up),
        cmocka_unit_test(test_which_request_may_shake_hands),
    };

    alarm(PATIENCE_S);
    play_clock_stop(); /* no handshake is too slow for the requests that wait for it */
    return cmocka_run_group_tests(tests, io_tls_set_up, io_tls_clean_up);
}
