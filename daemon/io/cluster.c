/* SPDX-License-Identifier: Apache-2.0 */
#include "io/cluster.h"

#include <stdlib.h>
#include <uv.h>

#include "base/list.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/panic.h"
#include "io/exchange.h"
#include "io/loop.h"
#include "io/origin.h"
#include "io/pool.h"
#include "io/session.h"
#include "proto/http_in.h"
#include "proto/http_out.h"
#include "proto/tls.h"

/* How long after its handshake the leader may wait for a session (TLS 1.3 sends them later). */
enum { LEAD_MS = 1000 };

struct cluster {
    uv_timer_t timer; /* for the next idle connection that gets too old; open until dispose */
    struct loop *loop;
    struct cluster_params params; /* without its pointers to text, which are the next two */
    char *name;
    struct origin origin;
    struct session session;
    struct pool pool;
    struct list requests; /* all that are not disposed */
    struct list waiting;  /* those in RQ_WAITING, in the order in which they start */
    unsigned lists;       /* places taken in the list gate */
    uint64_t last_contact_ms;
    struct cluster_stats stats;
    struct loop_task dispatch;
};

enum request_state {
    RQ_WAITING,    /* for a place in the gate, for the leader, or for the next turn */
    RQ_CONNECTING, /* owns a connection that is not open yet */
    RQ_TALKING,    /* owns a connection and an exchange on it */
    RQ_DONE,       /* on_end ran or is on its way */
};

struct request {
    uv_timer_t timer;        /* bounds the lead; open until dispose */
    struct cluster *cluster; /* NULL once either is disposed */
    enum request_state state;
    struct list link;
    struct list wait;
    const struct request_events *events;
    void *arg;
    char *target;
    char *accept;
    bool list;
    bool gated; /* needs a place in the list gate */
    uint64_t hard_deadline_ms;
    bool placed;  /* has a place in the list gate */
    bool follows; /* waits for the leader and fails with it */
    bool reused;  /* its connection carried another request before */
    bool fresh;   /* repeated: takes no idle connection */
    bool sent;    /* it had a connection that was open */
    struct conn *conn;
    struct exchange *exchange;
    struct err failure; /* what tell_end tells */
    struct loop_task tell_end;
};

static void enter(struct request *r, enum request_state state)
{
    static const char *const names[] = {"waiting", "connecting", "talking", "done"};

    r->state = state;
    list_remove(&r->wait);
    uv_timer_stop(&r->timer);
    log_trace("request", KV_STR("cluster", r->cluster->name), KV_STR("target", r->target),
              KV_STR("state", names[state]));
}

static void dispatch_later(struct cluster *c)
{
    loop_defer(c->loop, &c->dispatch);
}

void request_leave_gate(struct request *r)
{
    struct cluster *c = r->cluster;

    if (c == NULL || !r->placed)
        return;
    c->lists--;
    r->placed = false;
    dispatch_later(c);
}

/* Gives back what others wait for. */
static void release(struct request *r)
{
    struct cluster *c = r->cluster;

    if (r->placed)
        c->lists--;
    r->placed = false;
    session_leave(&c->session, r);
    if (!list_is_empty(&c->waiting))
        dispatch_later(c);
}

static void on_tell_end(struct loop_task *task)
{
    struct request *r = container_of(task, struct request, tell_end);

    r->events->on_end(r->arg, &r->failure);
}

/* on_end in the next turn: for callers that stand in the middle of something. */
static void fail_later(struct request *r, const struct err *err)
{
    release(r);
    enter(r, RQ_DONE);
    r->failure = *err;
    loop_defer(r->cluster->loop, &r->tell_end);
}

/* The end of a request whose connection failed. Those that followed it would fail the same way. */
static void fail(struct request *r, const struct err *err)
{
    struct cluster *c = r->cluster;

    session_doubt(&c->session);
    if (session_leave(&c->session, r))
        list_each (pos, tmp, &c->waiting) {
            struct request *other = list_entry(pos, struct request, wait);

            if (other->follows)
                fail_later(other, err);
        }
    conn_dispose(&r->conn);
    release(r);
    enter(r, RQ_DONE);
    r->events->on_end(r->arg, err);
}

static void on_age(uv_timer_t *timer)
{
    struct cluster *c = container_of(timer, struct cluster, timer);
    uint64_t next_ms = pool_expire(&c->pool, loop_now_ms(c->loop));

    if (next_ms > 0)
        uv_timer_start(timer, on_age, next_ms, 0);
}

/* The response is complete. */
static void succeed(struct request *r)
{
    struct cluster *c = r->cluster;
    struct conn *conn = r->conn;
    bool keep = exchange_reusable(r->exchange) && conn_state(conn) == CONN_OPEN &&
                conn_tls_ctx(conn) == c->session.ctx;

    r->conn = NULL;
    exchange_dispose(&r->exchange);
    if (keep) {
        pool_put(&c->pool, conn, loop_now_ms(c->loop));
        on_age(&c->timer);
    } else {
        conn_dispose(&conn);
    }
    release(r);
    enter(r, RQ_DONE);
    r->events->on_end(r->arg, NULL);
}

/* The idle connection was about to be closed when it was taken: back to the head of the queue. */
static void repeat(struct request *r)
{
    struct cluster *c = r->cluster;
    struct list *first = list_first(&c->waiting);

    conn_dispose(&r->conn);
    r->reused = false;
    r->fresh = true;
    session_doubt(&c->session);
    enter(r, RQ_WAITING);
    list_append(first != NULL ? first : &c->waiting, &r->wait);
    dispatch_later(c);
}

static void on_head(void *arg, const struct http_head *head)
{
    struct request *r = arg;
    struct cluster *c = r->cluster;

    c->last_contact_ms = loop_now_ms(c->loop);
    if (c->session.leader == r) { /* a server that gives sessions has done so by now */
        session_missing(&c->session, r);
        dispatch_later(c);
    }
    r->events->on_head(r->arg, head);
}

static void on_body(void *arg, const char *data, size_t n)
{
    struct request *r = arg;

    r->cluster->last_contact_ms = loop_now_ms(r->cluster->loop);
    r->events->on_body(r->arg, data, n);
}

static void on_end(void *arg, const struct err *err)
{
    struct request *r = arg;

    if (err == NULL) {
        succeed(r);
        return;
    }
    bool stale = r->reused && !exchange_heard(r->exchange) &&
                 (err->kind == ERR_CLOSED || err->kind == ERR_IO);

    exchange_dispose(&r->exchange);
    if (stale)
        repeat(r);
    else
        fail(r, err);
}

/* The connection is open. No callback runs before return. */
static void talk(struct request *r)
{
    static const struct exchange_events events = {on_head, on_body, on_end};
    const struct cluster *c = r->cluster;
    struct http_request request;
    char *path;
    const struct exchange_params params = {
        .request = &request,
        .response_timeout_ms = c->params.response_timeout_ms,
        .idle_timeout_ms = r->list ? c->params.list_idle_timeout_ms : 0,
        .hard_deadline_ms = r->hard_deadline_ms,
    };

    origin_fill(&c->origin, r->target, r->accept, &path, &request);
    enter(r, RQ_TALKING);
    r->sent = true;
    r->exchange = exchange_create(c->loop, r->conn, &params, &events, r);
    free(path);
}

static void on_lead_over(uv_timer_t *timer)
{
    struct request *r = container_of(timer, struct request, timer);

    session_missing(&r->cluster->session, r);
    dispatch_later(r->cluster);
}

static void on_open(void *arg)
{
    struct request *r = arg;
    struct cluster *c = r->cluster;

    c->stats.connections++;
    talk(r);
    if (conn_resumed(r->conn)) {
        c->stats.resumed++;
        session_resumed(&c->session, conn_tls_ctx(r->conn));
        dispatch_later(c);
    }
    if (c->session.leader == r)
        uv_timer_start(&r->timer, on_lead_over, LEAD_MS, 0);
}

static void on_connect_failed(void *arg, const struct err *err)
{
    fail(arg, err);
}

static void on_session(void *arg, struct conn *conn, struct tls_session *session)
{
    struct cluster *c = arg;

    session_keep(&c->session, conn_tls_ctx(conn), session);
    dispatch_later(c);
}

static void connect_fresh(struct request *r)
{
    static const struct conn_events events = {.on_open = on_open, .on_closed = on_connect_failed};
    struct cluster *c = r->cluster;
    const struct conn_params params = {
        .host = c->origin.host,
        .port = c->origin.port,
        .tls = c->session.ctx,
        .server_name = c->origin.tls_server_name,
        .resume = c->session.saved,
        .connect_timeout_ms = c->params.connect_timeout_ms,
        .tls_timeout_ms = c->params.tls_timeout_ms,
        .resolve = c->params.resolve,
        .on_session = on_session,
        .session_arg = c,
    };

    enter(r, RQ_CONNECTING);
    r->conn = conn_create(c->loop, &params, &events, r);
}

/* Moves one waiting request on if nothing stands in its way. No callback runs before return. */
static void try_start(struct request *r)
{
    struct cluster *c = r->cluster;
    struct conn *idle = NULL;

    if (r->gated && !r->placed && c->lists >= c->params.list_concurrency)
        return;
    if (!r->fresh)
        idle = pool_take(&c->pool);
    if (idle == NULL && c->origin.tls && c->session.ctx == NULL) {
        struct err err;

        err_set(&err, ERR_CREDENTIAL, 0, "%s: no usable certificates are loaded",
                c->origin.host_header);
        fail_later(r, &err);
        return;
    }
    r->follows = idle == NULL && c->origin.tls && !session_enter(&c->session, r);
    if (r->follows)
        return;
    if (r->gated && !r->placed)
        c->lists++;
    r->placed = r->gated;
    r->reused = idle != NULL;
    r->conn = idle;
    if (idle != NULL)
        talk(r);
    else
        connect_fresh(r);
}

static void on_dispatch(struct loop_task *task)
{
    struct cluster *c = container_of(task, struct cluster, dispatch);

    list_each (pos, tmp, &c->waiting)
        try_start(list_entry(pos, struct request, wait));
}

struct request *cluster_request(struct cluster *c, const struct request_params *params,
                                const struct request_events *events, void *arg)
{
    struct request *r =
        MEM_NEW(struct request, .cluster = c, .events = events, .arg = arg,
                .target = mem_strdup(params->target), .accept = mem_strdup(params->accept),
                .list = params->list, .gated = params->list || params->stream,
                .hard_deadline_ms = params->hard_deadline_ms);

    list_init(&r->link);
    list_init(&r->wait);
    loop_task_init(&r->tell_end, on_tell_end);
    uv_timer_init(loop_uv(c->loop), &r->timer);
    enter(r, RQ_WAITING);
    list_append(&c->requests, &r->link);
    list_append(&c->waiting, &r->wait);
    dispatch_later(c);
    return r;
}

/* From here on it is silent and in nobody's list. */
static void detach(struct request *r)
{
    r->cluster = NULL;
    list_remove(&r->link);
    list_remove(&r->wait);
    uv_timer_stop(&r->timer);
    loop_cancel(&r->tell_end);
    exchange_dispose(&r->exchange);
    conn_dispose(&r->conn);
}

static void on_request_closed(uv_handle_t *timer)
{
    struct request *r = container_of((uv_timer_t *)timer, struct request, timer);

    free(r->target);
    free(r->accept);
    free(r);
}

bool request_was_sent(const struct request *r)
{
    return r->sent;
}

void request_dispose(struct request **rp)
{
    struct request *r = *rp;

    if (r == NULL)
        return;
    *rp = NULL;
    if (r->cluster != NULL) {
        release(r);
        detach(r);
    }
    uv_close((uv_handle_t *)&r->timer, on_request_closed);
}

struct cluster *cluster_create(struct loop *loop, const struct cluster_params *params)
{
    struct cluster *c = mem_zalloc(sizeof(*c));

    ensure(params->list_concurrency > 0);
    c->loop = loop;
    c->params = *params;
    c->name = mem_strdup(params->name);
    origin_init(&c->origin, params->url, params->tls_server_name, params->user_agent);
    list_init(&c->requests);
    list_init(&c->waiting);
    loop_task_init(&c->dispatch, on_dispatch);
    uv_timer_init(loop_uv(loop), &c->timer);
    return c;
}

void cluster_set_tls(struct cluster *c, struct tls_ctx *ctx)
{
    session_set_ctx(&c->session, ctx);
    pool_clear(&c->pool);
    dispatch_later(c);
}

void cluster_set_token(struct cluster *c, const char *token)
{
    origin_set_token(&c->origin, token);
}

uint64_t cluster_last_contact_ms(const struct cluster *c)
{
    return c->last_contact_ms;
}

struct cluster_stats cluster_stats(const struct cluster *c)
{
    return c->stats;
}

const char *cluster_name(const struct cluster *c)
{
    return c->name;
}

static void on_cluster_closed(uv_handle_t *timer)
{
    struct cluster *c = container_of((uv_timer_t *)timer, struct cluster, timer);

    origin_fini(&c->origin);
    free(c->name);
    free(c);
}

void cluster_dispose(struct cluster **cp)
{
    struct cluster *c = *cp;

    if (c == NULL)
        return;
    *cp = NULL;
    list_each (pos, tmp, &c->requests)
        detach(list_entry(pos, struct request, link));
    pool_clear(&c->pool);
    session_set_ctx(&c->session, NULL);
    loop_cancel(&c->dispatch);
    uv_close((uv_handle_t *)&c->timer, on_cluster_closed);
}
