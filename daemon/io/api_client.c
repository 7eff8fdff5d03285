/* SPDX-License-Identifier: Apache-2.0 */
#include "io/api_client.h"

#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/buf.h"
#include "base/list.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/panic.h"
#include "base/rate.h"
#include "io/deadline.h"
#include "io/exchange.h"
#include "io/loop.h"
#include "io/pool.h"
#include "io/resolver.h"
#include "io/server_identity.h"
#include "io/tls_session_cache.h"
#include "proto/http_in.h"
#include "proto/http_out.h"
#include "proto/proxy.h"
#include "proto/tls.h"
#include "proto/url.h"

/* A response with a place in the list gate must bring so many bytes a minute. A silence counts as
 * no more than LIST_PAUSE_MS, since list_idle_timeout judges silences. Any link is fast enough for
 * this; the limit finds a server that drips, which would otherwise keep its place for ever. */
#define LIST_BYTES_PER_MINUTE ((size_t)64 * 1024)
enum { MINUTE_MS = 60000, LIST_PAUSE_MS = 10000 };

/* How long the leader waits for a session after its handshake: TLS 1.3 sends sessions later. After
 * that the server counts as one that gives no sessions. */
enum { LEAD_MS = 1000 };

/* When the leader has a session, a thousand requests may be waiting for it. So many connect in one
 * turn, which takes less than a millisecond. */
enum { CONNECTS_AT_ONCE = 16 };

struct api_client {
    struct loop *loop;
    struct api_client_params params; /* not its texts */
    char *name;
    /* Where the requests go, and what is the same in all of them. */
    char *host;
    char *prefix;          /* in front of every path; may be "" */
    char *host_header;     /* HOST[:PORT], IPv6 in brackets */
    char *tls_server_name; /* NULL = host */
    char *user_agent;
    char *headers; /* NULL = none */
    char *token;   /* secret; NULL = none */
    char *basic;   /* secret: USER:PASSWORD in base64; NULL = none */
    uint16_t port;
    bool tls;
    struct resolver *resolver;
    struct tls_session_cache session;
    struct deadline *lead; /* LEAD_MS of the leader */
    struct pool pool;
    struct deadline *age; /* until the next idle connection is too old */
    struct list requests; /* all requests that are not disposed */
    struct list waiting;  /* requests in RQ_WAITING, in the order in which they start */
    struct list asking;   /* requests in RQ_ASKING, in the order in which they began to wait */
    struct deadline *ask_timer; /* until the next question may be sent */
    struct server_identity server_identity;
    struct request *asker; /* its connection carries the question; NULL = none is under way */
    unsigned lists;        /* places taken in the list gate */
    uint64_t last_contact_ms;
    struct loop_task dispatch; /* something changed: looks which waiting requests can start */
};

enum request_state {
    RQ_WAITING,    /* for a place in the list gate, for the leader, or for the next turn */
    RQ_CONNECTING, /* owns a connection that is not open yet */
    /* Waits until the server has said which cluster it is. Owns an open connection, except for an
     * api_client_identify() whose turn has not come. */
    RQ_ASKING,
    RQ_IDENTIFIED, /* the cluster is the right one: the request is sent in the next turn */
    RQ_TALKING,    /* owns a connection and an exchange on it */
    RQ_DONE,       /* on_end ran or is on its way */
};

struct request {
    struct api_client *client; /* NULL once either is disposed */
    enum request_state state;
    struct list link; /* in client->requests */
    struct list wait; /* in client->waiting or client->asking */
    const struct request_events *events;
    void *arg;
    char *target;
    char *accept;
    bool list;
    bool gated; /* needs a place in the list gate: a LIST or a streaming list */
    uint64_t hard_deadline_ms;
    bool placed;         /* has a place in the list gate */
    bool stream;         /* a streaming list: its connection goes on as the watch */
    bool asks_first;     /* as in request_params */
    bool asks;           /* made by api_client_identify(): has no target */
    bool identify_first; /* request_params.follows */
    bool served;   /* an answer counted, then the connection was closed: it is not asked again */
    uint64_t peer; /* the server process that is wanted or answers; 0 = any, or not known */
    uint64_t last_peer; /* as in request_params */
    uint64_t last_ms;
    uint64_t asked_ms; /* ASKING: since when */
    bool follows;      /* waits for the leader and fails with it */
    bool reused;       /* its connection was idle in the pool before */
    bool fresh;        /* takes no idle connection */
    struct conn *conn;
    struct exchange *exchange;
    struct rate rate;          /* of the body, while the request has a place */
    struct err failure;        /* for tell_end; ERR_OK = none */
    struct loop_task tell_end; /* calls on_end with failure */
    struct loop_task go_on;    /* IDENTIFIED: sends the request */
};

/* A state change takes the request off the waiting lists; the caller puts it on the list of the new
 * state. For the leader LEAD_MS end with the state. */
static void enter(struct request *r, enum request_state state)
{
    static const char *const names[] = {"waiting",    "connecting", "asking",
                                        "identified", "talking",    "done"};

    r->state = state;
    list_remove(&r->wait);
    if (r->client->session.leader == r)
        deadline_stop(r->client->lead);
    log_trace("request", KV_STR("cluster", r->client->name),
              KV_STR("target", r->asks ? "(identity)" : r->target), KV_STR("state", names[state]));
}

/* Requests start from the loop only, so that no callback of a request runs inside a call of a
 * user. */
static void dispatch_later(struct api_client *c)
{
    loop_defer(c->loop, &c->dispatch);
}

void request_leave_gate(struct request *r)
{
    struct api_client *c = r->client;

    if (c == NULL || !r->placed)
        return;
    c->lists--;
    r->placed = false;
    dispatch_later(c);
}

static void ask_next(struct api_client *c);

/* If r was asking, its answer will not come: the next request in line asks. */
static void drop_question(struct request *r)
{
    if (r->client->asker != r)
        return;
    r->client->asker = NULL;
    list_remove(&r->wait);
    ask_next(r->client);
}

/* The request is over: gives back the question, the place in the list gate and the lead, as other
 * requests may wait for them. */
static void release(struct request *r)
{
    struct api_client *c = r->client;

    drop_question(r);
    if (r->placed)
        c->lists--;
    r->placed = false;
    tls_session_cache_leave(&c->session, r);
    if (!list_is_empty(&c->waiting))
        dispatch_later(c);
}

static void on_tell_end(struct loop_task *task)
{
    const struct request *r = container_of(task, struct request, tell_end);
    struct err why = r->failure; /* the owner may dispose the request first and read it then */

    r->events->on_end(r->arg, why.kind != ERR_OK ? &why : NULL);
}

/* Ends a request with on_end in the next turn, for callers that walk a list or run inside a call of
 * the user. */
static void fail_later(struct request *r, const struct err *err)
{
    release(r);
    enter(r, RQ_DONE);
    loop_cancel(&r->go_on);
    r->failure = *err;
    loop_defer_slow(r->client->loop, &r->tell_end);
}

/* Ends a request whose connection failed. If the request was the leader, the requests that wait for
 * it fail with the same error: each would otherwise try in its turn a server that is probably
 * down. */
static void fail(struct request *r, const struct err *err)
{
    struct api_client *c = r->client;

    tls_session_cache_doubt(&c->session);
    if (tls_session_cache_leave(&c->session, r))
        list_each (pos, tmp, &c->waiting) {
            struct request *other = list_entry(pos, struct request, wait);

            if (other->follows)
                fail_later(other, err);
        }
    conn_dispose(&r->conn);
    release(r);
    enter(r, RQ_DONE);
    loop_cancel(&r->go_on);
    r->events->on_end(r->arg, err);
}

/* Closes idle connections before the server does. */
static void on_age(void *arg)
{
    struct api_client *c = arg;
    uint64_t next_ms = pool_expire(&c->pool, loop_now_ms(c->loop));

    if (next_ms > 0)
        deadline_start(c->age, next_ms);
}

/* The response is over: the connection goes to the pool if it can carry another request and was
 * made with the TLS context of now. */
static void keep_idle(struct api_client *c, struct conn **conn)
{
    if (conn_state(*conn) == CONN_OPEN && conn_tls_ctx(*conn) == c->session.ctx) {
        pool_put(&c->pool, *conn, loop_now_ms(c->loop));
        *conn = NULL;
        on_age(c);
    }
    conn_dispose(conn);
}

/* The response is complete. */
static void succeed(struct request *r, bool reusable)
{
    if (reusable) {
        keep_idle(r->client, &r->conn);
    } else { /* nobody can ask on this connection any more which cluster it was */
        r->peer = 0;
        conn_dispose(&r->conn);
    }
    release(r);
    enter(r, RQ_DONE);
    r->events->on_end(r->arg, NULL);
}

/* The server closed the idle connection just when the request took it, so the request was probably
 * never read. It goes back to the head of the waiting requests and takes a new connection. Only
 * GETs are sent, which can be repeated. */
static void repeat(struct request *r)
{
    struct api_client *c = r->client;

    drop_question(r);
    struct list *first = list_first(&c->waiting);

    conn_dispose(&r->conn);
    r->reused = false;
    r->fresh = true;
    tls_session_cache_doubt(&c->session);
    enter(r, RQ_WAITING);
    list_append(first != NULL ? first : &c->waiting, &r->wait);
    dispatch_later(c);
}

static void on_head(void *arg, const struct http_head *head)
{
    struct request *r = arg;
    struct api_client *c = r->client;

    c->last_contact_ms = loop_now_ms(c->loop);
    if (c->session.leader == r) { /* a server that gives sessions would have done so by now */
        tls_session_cache_missing(&c->session, r);
        dispatch_later(c);
    }
    if (c->asker == r) {
        server_identity_head(&c->server_identity, head);
        return;
    }
    rate_begin(&r->rate, c->last_contact_ms);
    r->events->on_head(r->arg, head);
}

static void on_body(void *arg, const char *data, size_t n)
{
    struct request *r = arg;
    uint64_t now_ms = loop_now_ms(r->client->loop);
    struct err err;

    if (r->client->asker == r) {
        server_identity_body(&r->client->server_identity, data, n);
        return;
    }
    r->client->last_contact_ms = now_ms;
    if (r->placed && !rate_add(&r->rate, n, now_ms)) {
        /* Too slow for its place in the list gate, for which other requests wait. */
        err_set(&err, ERR_TIMEOUT, 0, "%s: the list came too slowly: less than %zu KiB in a minute",
                conn_name(r->conn), LIST_BYTES_PER_MINUTE / 1024);
        exchange_dispose(&r->exchange);
        fail(r, &err);
        return;
    }
    r->events->on_body(r->arg, data, n);
}

static void question_over(struct request *r, const struct err *err, bool reusable);

static void on_end(void *arg, const struct err *err)
{
    struct request *r = arg;
    bool reusable = err == NULL && exchange_reusable(r->exchange);
    /* A timeout is no sign of a stale connection: the server may work on the request. */
    bool stale = err != NULL && r->reused && !exchange_heard(r->exchange) &&
                 (err->kind == ERR_CLOSED || err->kind == ERR_IO);

    exchange_dispose(&r->exchange);
    if (stale)
        repeat(r);
    else if (r->client->asker == r)
        question_over(r, err, reusable);
    else if (err == NULL)
        succeed(r, reusable);
    else
        fail(r, err);
}

/* Sends a GET on the open connection of r. No callback runs before return. */
static void send_get(struct request *r, const char *target, const char *accept,
                     struct exchange_params params)
{
    static const struct exchange_events events = {on_head, on_body, on_end};
    const struct api_client *c = r->client;
    char *path = mem_printf("%s%s", c->prefix, target);

    params.request = &(struct http_request){
        .method = "GET",
        .target = path,
        .host = c->host_header,
        .accept = accept,
        .bearer = c->token,
        .basic = c->basic,
        .user_agent = c->user_agent,
        .headers = c->headers,
    };
    r->exchange = exchange_create(c->loop, r->conn, &params, &events, r);
    free(path);
}

/* Sends the request itself. */
static void talk(struct request *r)
{
    const struct api_client_params *p = &r->client->params;

    enter(r, RQ_TALKING);
    send_get(r, r->target, r->accept,
             (struct exchange_params){
                 .response_timeout_ms = p->response_timeout_ms,
                 .idle_timeout_ms = r->list ? p->list_idle_timeout_ms : 0,
                 .hard_deadline_ms = r->hard_deadline_ms,
             });
}

/* ---- Which cluster is it? docs/design.md "Cluster identity" */

/* Can a server process be recognised on another connection? */
static bool has_sessions(const struct api_client *c)
{
    return c->tls && !c->session.none;
}

/* Does the answer to the question count for r? Only if r has waited since the question was sent or
 * before, and for the process that answered. Without sessions each connection may lead to another
 * process, and every scope would have to ask by itself, once a second; so there the answer counts
 * for all that waited (docs/decisions.md "A cluster's identity holds for a server process"). */
static bool is_served(const struct request *r, uint64_t peer)
{
    const struct api_client *c = r->client;

    return r->asked_ms <= c->server_identity.asked_ms && (r->peer == peer || !has_sessions(c));
}

/* The server has said that it is of the right cluster: on_identity may still stop the request, if
 * the revision shows a server that went back. */
static void on_go_on(struct loop_task *task)
{
    struct request *r = container_of(task, struct request, go_on);
    const char *revision = server_identity_revision(&r->client->server_identity, r->peer);

    if (r->asks) {
        enter(r, RQ_DONE);
        if (r->events->on_identity == NULL || r->events->on_identity(r->arg, revision))
            r->events->on_end(r->arg, NULL);
    } else if (r->events->on_identity == NULL || r->events->on_identity(r->arg, revision)) {
        talk(r);
    }
}

/* The server is of the right cluster: r goes on in the next turn. */
static void serve(struct request *r, const char *revision)
{
    struct api_client *c = r->client;

    enter(r, RQ_IDENTIFIED);
    if (r->conn != NULL) {
        conn_set_identified(r->conn);
        server_identity_answered(&c->server_identity, conn_peer(r->conn), revision,
                                 loop_now_ms(c->loop));
    }
    if (r->asks && r->conn != NULL) /* for the request that follows the answer */
        keep_idle(c, &r->conn);
    loop_defer(c->loop, &r->go_on);
}

/* The same for a request whose connection was closed behind the answer: it connects anew, and is
 * not asked for another answer. A server that closes each connection would otherwise be asked for
 * ever. */
static void serve_later(struct request *r)
{
    struct api_client *c = r->client;

    r->served = true;
    enter(r, RQ_WAITING);
    list_append(&c->waiting, &r->wait);
    dispatch_later(c);
}

/* The question of by is over, and its connection, if there still is one, is idle. Has the answer
 * judged; no answer for too long counts as one (status 0). The result goes to by and to all other
 * requests that the answer counts for. If the cluster is not the right one, idle connections and
 * earlier answers are of no use any more. */
static void judge(struct api_client *c, struct request *by,
                  const struct cluster_identity_answer *answer, int status)
{
    uint64_t peer = by->peer;
    struct err err = {0};
    bool good = c->params.judge(c->params.judge_arg, answer, status, &err);

    c->asker = NULL;
    if (!good) {
        server_identity_forget_all(&c->server_identity);
        pool_clear(&c->pool);
    }
    list_each (pos, tmp, &c->asking) {
        struct request *r = list_entry(pos, struct request, wait);

        if (r != by && !is_served(r, peer))
            continue;
        if (good && r->conn == NULL && !r->asks) {
            serve_later(r);
        } else if (good) {
            serve(r, answer->revision);
        } else {
            conn_dispose(&r->conn);
            fail_later(r, &err);
        }
    }
    ask_next(c);
}

/* The answer to the question of r is complete, or there is none. If the servers count as ones that
 * do not tell, the judge decides without an answer, and r connects anew: idle connections may be as
 * broken as this one. If there may be an answer later, r fails, and its owner tries again. */
static void question_over(struct request *r, const struct err *err, bool reusable)
{
    struct api_client *c = r->client;
    struct server_identity_reply reply;
    enum server_identity_outcome outcome =
        server_identity_end(&c->server_identity, err, loop_now_ms(c->loop), &reply);

    if (!reusable || outcome != SERVER_IDENTITY_TOLD)
        conn_dispose(&r->conn);
    if (outcome == SERVER_IDENTITY_FAILED) {
        fail(r, &reply.err);
        return;
    }
    r->fresh = r->fresh || outcome == SERVER_IDENTITY_MUTE;
    judge(c, r, &reply.answer, reply.status);
}

/* Sends the question on the open connection of r. No callback runs before return. */
static void send_question(struct request *r)
{
    struct api_client *c = r->client;

    c->asker = r;
    server_identity_asked(&c->server_identity, loop_now_ms(c->loop));
    r->peer = conn_peer(r->conn);
    send_get(r, CLUSTER_IDENTITY_TARGET, CLUSTER_IDENTITY_ACCEPT,
             (struct exchange_params){.response_timeout_ms = SERVER_IDENTITY_PATIENCE_MS,
                                      .hard_deadline_ms = SERVER_IDENTITY_PATIENCE_MS});
}

static void on_ask_timer(void *arg)
{
    ask_next(arg);
}

/* Sends the next question on the connection of the request that has waited for longest, or starts
 * the timer if the last question was sent too short a time ago. An api_client_identify() without a
 * connection goes to the waiting requests and comes back with one; for a certain process that is a
 * new connection, which resumes the session if the process still lives. */
static void ask_next(struct api_client *c)
{
    uint64_t wait_ms = server_identity_wait_ms(&c->server_identity, loop_now_ms(c->loop));

    if (c->asker != NULL || list_is_empty(&c->asking))
        return;
    if (wait_ms > 0) {
        deadline_start(c->ask_timer, wait_ms);
        return;
    }
    for (struct list *first; (first = list_first(&c->asking)) != NULL;) {
        struct request *r = list_entry(first, struct request, wait);

        /* An api_client_identify() takes an idle connection to the process that it asks about. */
        if (r->conn == NULL) {
            r->conn = pool_take_peer(&c->pool, r->peer);
            r->reused = r->conn != NULL;
        }
        if (r->conn != NULL) {
            send_question(r);
            return;
        }
        enter(r, RQ_WAITING);
        r->fresh = r->peer != 0;
        list_append(&c->waiting, &r->wait);
        dispatch_later(c);
    }
}

/* r waits for the answer which cluster it is. No callback runs before return. */
static void ask(struct request *r)
{
    struct api_client *c = r->client;

    enter(r, RQ_ASKING);
    if (r->conn != NULL)
        r->peer = conn_peer(r->conn);
    r->asked_ms = loop_now_ms(c->loop);
    list_append(&c->asking, &r->wait);
    ask_next(c);
}

/* The request has got an open connection: is it sent at once, or must the server say first which
 * cluster it serves? If an api_client_identify() asks about a process that cannot be reached any
 * more, no other process can answer for it; the request fails and its owner begins anew. */
static void begin(struct request *r)
{
    static const struct err gone = {.kind = ERR_CLOSED,
                                    .text = "the connection to the server that sent the list was "
                                            "lost before the server said which cluster it is"};
    const struct api_client *c = r->client;
    uint64_t peer = conn_peer(r->conn);
    bool known = c->params.judge == NULL || r->served || conn_is_identified(r->conn) ||
                 !server_identity_must_ask(&c->server_identity, peer, r->identify_first,
                                           loop_now_ms(c->loop));

    if (r->asks && r->peer != 0 && r->peer != peer && has_sessions(c)) {
        fail_later(r, &gone);
        return;
    }
    r->peer = peer;
    /* If another process goes on with a watch, it may have an older state of etcd. So it must have
     * said its revision since the last response of the scope ended
     * (docs/decisions.md "The revision of etcd counts only from a new process"). */
    bool moved = r->identify_first && c->params.judge != NULL && r->last_peer != peer;
    bool asks_first = r->asks_first && c->params.judge != NULL && !r->served;
    if (r->asks || !known || asks_first ||
        (moved && server_identity_answered_ms(&c->server_identity, peer) < r->last_ms)) {
        ask(r);
    } else if (moved) { /* the last answer of the process is new enough */
        enter(r, RQ_IDENTIFIED);
        loop_defer(r->client->loop, &r->go_on);
    } else {
        talk(r);
    }
}

/* The server has given no session within LEAD_MS: the others wait no longer. */
static void on_lead_over(void *arg)
{
    struct api_client *c = arg;

    if (c->session.leader != NULL)
        tls_session_cache_missing(&c->session, c->session.leader);
    dispatch_later(c);
}

/* The leader stays the leader after its handshake: with TLS 1.3 the session is still to come
 * (on_session()). begin() changes the state, which ends LEAD_MS, so they are set after it. */
static void on_open(void *arg)
{
    struct request *r = arg;
    struct api_client *c = r->client;

    begin(r);
    if (conn_resumed(r->conn)) {
        tls_session_cache_resumed(&c->session, conn_tls_ctx(r->conn));
        dispatch_later(c);
    }
    if (c->session.leader == r)
        deadline_start(c->lead, LEAD_MS);
}

static void on_connect_failed(void *arg, const struct err *err)
{
    fail(arg, err);
}

static void on_session(void *arg, struct conn *conn, struct tls_session *session)
{
    struct api_client *c = arg;

    tls_session_cache_keep(&c->session, conn_tls_ctx(conn), session, conn_peer(conn));
    dispatch_later(c);
}

/* Connects, and offers the saved session. The number of the server process is new; conn_peer() says
 * the saved one if the session is resumed. */
static void connect_fresh(struct request *r)
{
    static const struct conn_events events = {.on_open = on_open, .on_closed = on_connect_failed};
    struct api_client *c = r->client;
    const struct conn_params params = {
        .host = c->host,
        .port = c->port,
        .resolver = c->resolver,
        .proxy = c->params.proxy,
        .proxy_tls = c->params.proxy_tls,
        .tls = c->session.ctx,
        .server_name = c->tls_server_name,
        .resume = c->session.saved,
        .peer = server_identity_new_peer(&c->server_identity),
        .resume_peer = c->session.peer,
        .connect_timeout_ms = c->params.connect_timeout_ms,
        .tls_timeout_ms = c->params.tls_timeout_ms,
        .on_session = on_session,
        .session_arg = c,
    };

    enter(r, RQ_CONNECTING);
    r->conn = conn_create(c->loop, &params, &events, r);
}

/* Why no connection can be made now; NULL = one can. */
static const char *obstacle(const struct api_client *c)
{
    const struct proxy *p = c->params.proxy;

    if (c->tls && c->session.ctx == NULL)
        return "no usable certificates are loaded";
    if (p != NULL && p->url.tls && c->params.proxy_tls == NULL)
        return "the proxy has https://, and the CAs of the system cannot be used";
    return NULL;
}

/* Starts one waiting request if it has a place in the list gate and an idle connection, or may
 * connect. No callback runs before return. True: it connects. */
static bool try_start(struct request *r)
{
    struct api_client *c = r->client;
    struct conn *idle = NULL;

    if (r->gated && !r->placed && c->lists >= c->params.list_concurrency)
        return false;
    if (!r->fresh)
        idle = pool_take(&c->pool);
    if (idle == NULL && obstacle(c) != NULL) {
        struct err err;

        err_set(&err, ERR_CREDENTIAL, 0, "%s: %s", c->host_header, obstacle(c));
        fail_later(r, &err);
        return false;
    }
    /* Without TLS there are no sessions to wait for. A place is taken only when the request
     * starts. */
    r->follows = idle == NULL && c->tls && !tls_session_cache_enter(&c->session, r);
    if (r->follows)
        return false;
    if (r->gated && !r->placed)
        c->lists++;
    r->placed = r->gated;
    r->reused = idle != NULL;
    r->conn = idle;
    if (idle != NULL)
        begin(r);
    else
        connect_fresh(r);
    return idle == NULL;
}

static void on_dispatch(struct loop_task *task)
{
    struct api_client *c = container_of(task, struct api_client, dispatch);
    unsigned connects = 0;

    list_each (pos, tmp, &c->waiting) {
        connects += try_start(list_entry(pos, struct request, wait));
        if (connects == CONNECTS_AT_ONCE) {
            loop_defer_slow(c->loop, &c->dispatch);
            return;
        }
    }
}

static void begin_request(struct request *r)
{
    struct api_client *c = r->client;

    list_init(&r->link);
    list_init(&r->wait);
    loop_task_init(&r->tell_end, on_tell_end);
    loop_task_init(&r->go_on, on_go_on);
    enter(r, RQ_WAITING);
    list_append(&c->requests, &r->link);
}

struct request *api_client_request(struct api_client *c, const struct request_params *params,
                                   const struct request_events *events, void *arg)
{
    struct request *r =
        MEM_NEW(struct request, .client = c, .events = events, .arg = arg,
                .target = mem_strdup(params->target), .accept = mem_strdup(params->accept),
                .list = params->list, .gated = params->list || params->stream,
                .identify_first = params->follows, .last_peer = params->last_peer,
                .last_ms = params->last_ms, .stream = params->stream,
                .asks_first = params->asks_first, .hard_deadline_ms = params->hard_deadline_ms);

    r->rate = (struct rate){MINUTE_MS, LIST_BYTES_PER_MINUTE, LIST_PAUSE_MS, 0, 0, 0};
    begin_request(r);
    list_append(&c->waiting, &r->wait);
    dispatch_later(c);
    return r;
}

struct request *api_client_identify(struct api_client *c, uint64_t peer,
                                    const struct request_events *events, void *arg)
{
    struct request *r = MEM_NEW(struct request, .client = c, .events = events, .arg = arg,
                                .asks = true, .peer = peer);

    begin_request(r);
    /* Servers are not asked: each one is taken for the right cluster's. */
    if (c->params.judge == NULL)
        fail_later(r, &(struct err){0});
    else
        ask(r);
    return r;
}

/* A streaming list goes on as the watch, so its connection is never free for a question. */
uint64_t request_peer(const struct request *r)
{
    bool is_lost = r->stream && r->client != NULL && !has_sessions(r->client);

    return is_lost ? 0 : r->peer;
}

bool request_is_current(const struct request *r)
{
    return r->client == NULL || r->conn == NULL || conn_tls_ctx(r->conn) == r->client->session.ctx;
}

/* Takes the request off all lists and timers: no callback can come from here on. */
static void detach(struct request *r)
{
    r->client = NULL;
    list_remove(&r->link);
    list_remove(&r->wait);
    loop_cancel(&r->tell_end);
    loop_cancel(&r->go_on);
    exchange_dispose(&r->exchange);
    conn_dispose(&r->conn);
}

void request_dispose(struct request **rp)
{
    struct request *r = *rp;

    if (r == NULL)
        return;
    *rp = NULL;
    if (r->client != NULL) { /* else the API client was disposed first */
        release(r);
        detach(r);
    }
    free(r->target);
    free(r->accept);
    free(r);
}

struct api_client *api_client_create(struct loop *loop, const struct api_client_params *params)
{
    const struct url *url = params->url;
    /* An empty name in the configuration means the same as none. */
    bool named = params->tls_server_name != NULL && params->tls_server_name[0] != '\0';
    struct buf header = {0};

    ensure(params->list_concurrency > 0);
    url_put_host(&header, url);
    struct api_client *c =
        MEM_NEW(struct api_client, .loop = loop, .params = *params,
                .name = mem_strdup(params->name), .host = mem_strdup(url->host),
                .prefix = mem_strdup(url->prefix), .host_header = mem_strdup(buf_cstr(&header)),
                .tls_server_name = mem_strdup(named ? params->tls_server_name : NULL),
                .user_agent = mem_strdup(params->user_agent),
                .headers = mem_strdup(params->headers), .port = url->port, .tls = url->tls,
                .server_identity.interval_ms = params->question_interval_ms);
    buf_free(&header);
    if (c->params.proxy_tls != NULL)
        tls_ctx_ref(c->params.proxy_tls);
    c->resolver = resolver_create(loop);
    list_init(&c->requests);
    list_init(&c->waiting);
    list_init(&c->asking);
    loop_task_init(&c->dispatch, on_dispatch);
    c->lead = deadline_create(loop, on_lead_over, c);
    c->age = deadline_create(loop, on_age, c);
    c->ask_timer = deadline_create(loop, on_ask_timer, c);
    return c;
}

void api_client_set_tls(struct api_client *c, struct tls_ctx *ctx)
{
    tls_session_cache_set_ctx(&c->session, ctx);
    pool_clear(&c->pool);
    dispatch_later(c);
}

/* A secret that is not used any more must not be left in freed memory. */
static void free_secret(char *s)
{
    if (s != NULL)
        mem_wipe(s, strlen(s));
    free(s);
}

void api_client_set_token(struct api_client *c, const char *token)
{
    char *copy = mem_strdup(token);

    free_secret(c->token);
    c->token = copy;
}

void api_client_set_basic(struct api_client *c, const char *user_password)
{
    struct buf encoded = {0};

    free_secret(c->basic);
    c->basic = NULL;
    if (user_password == NULL)
        return;
    /* With this room no realloc() leaves a copy in freed memory. */
    (void)!buf_reserve(&encoded, 2 * strlen(user_password) + 8);
    base64_encode(str_c(user_password), &encoded);
    buf_cstr(&encoded); /* adds the NUL; the memory is the client's now */
    c->basic = encoded.data;
}

uint64_t api_client_last_contact_ms(const struct api_client *c)
{
    return c->last_contact_ms;
}

const char *api_client_name(const struct api_client *c)
{
    return c->name;
}

void api_client_dispose(struct api_client **cp)
{
    struct api_client *c = *cp;

    if (c == NULL)
        return;
    *cp = NULL;
    /* The owners of the requests still have them; request_dispose() frees them. */
    list_each (pos, tmp, &c->requests)
        detach(list_entry(pos, struct request, link));
    pool_clear(&c->pool);
    tls_session_cache_set_ctx(&c->session, NULL);
    tls_ctx_unref(&c->params.proxy_tls);
    resolver_dispose(&c->resolver);
    loop_cancel(&c->dispatch);
    server_identity_fini(&c->server_identity);
    deadline_dispose(&c->lead);
    deadline_dispose(&c->age);
    deadline_dispose(&c->ask_timer);
    api_client_set_token(c, NULL);
    api_client_set_basic(c, NULL);
    free(c->headers);
    free(c->name);
    free(c->host);
    free(c->prefix);
    free(c->host_header);
    free(c->tls_server_name);
    free(c->user_agent);
    free(c);
}
