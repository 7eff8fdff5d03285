/* SPDX-License-Identifier: Apache-2.0 */
#include "io/api_client.h"

#include <stdlib.h>
#include <uv.h>

#include "base/buf.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/panic.h"
#include "io/api_request.h"
#include "io/api_server.h"
#include "io/deadline.h"
#include "io/resolver.h"
#include "proto/http_in.h"
#include "proto/http_out.h"
#include "proto/tls.h"

/* A response with a place in the list gate must bring so many bytes a minute. A silence counts as
 * no more than LIST_PAUSE_MS, since list_idle_timeout judges silences. Any link is fast enough for
 * this; the limit finds a server that drips, which would otherwise keep its place for ever. */
#define LIST_BYTES_PER_MINUTE ((size_t)64 * 1024)
enum { MINUTE_MS = 60000, LIST_PAUSE_MS = 10000 };

/* Connecting to one of several servers takes at most its share of connect_timeout and tls_timeout, as
 * another one can be tried; but no less than this, as a SYN that was lost is repeated after 1 s. */
#define SHARE_MS ((uint64_t)2000)

/* When the leader has a session, a thousand requests may be waiting for it. So many connect in one
 * turn, which takes less than a millisecond. */
enum { CONNECTS_AT_ONCE = 16 };

/* The number of a server process says which server it is of. */
static uint64_t new_peer(struct api_client *c, size_t server)
{
    return server_identity_new_peer(&c->server_identity) * c->servers.n + server;
}

void api_request_enter(struct request *r, enum request_state state)
{
    static const char *const names[] = {"waiting", "connecting", "asking",   "identified",
                                        "talking", "refused",    "answered", "done"};

    r->state = state;
    list_remove(&r->wait);
    log_trace("request", KV_STR("cluster", r->client->name),
              KV_STR("target", r->asks ? "(identity)" : r->target), KV_STR("state", names[state]));
}

/* Requests start from the loop only, so that no callback of a request runs inside a call of a
 * user. */
static void dispatch_later(struct api_client *c)
{
    loop_defer(c->loop, &c->dispatch);
}

void api_request_start_later(struct request *r)
{
    api_request_enter(r, RQ_WAITING);
    list_append(&r->client->waiting, &r->wait);
    dispatch_later(r->client);
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

/* The request is over: gives back the question, the place in the list gate and the lead, as other
 * requests may wait for them. */
static void release(struct request *r)
{
    struct api_client *c = r->client;

    api_question_drop(r);
    if (r->placed)
        c->lists--;
    r->placed = false;
    if (r->server != SERVERS_NONE)
        api_server_leave(api_request_server(r), r);
    if (!list_is_empty(&c->waiting))
        dispatch_later(c);
}

/* If some server has answered that it lags behind the request, and no other one could be used, the
 * caller has to find out whether etcd went back: that comes in place of on_end. */
static void on_tell_end(struct loop_task *task)
{
    const struct request *r = container_of(task, struct request, tell_end);
    struct err why = r->failure; /* the owner may dispose the request first and read it then */

    if (r->lags && !r->events->on_identity(r->arg, r->revision, true))
        return;
    r->events->on_end(r->arg, why.kind != ERR_OK ? &why : NULL);
}

void api_request_end_later(struct request *r, const struct err *err)
{
    release(r);
    exchange_dispose(&r->exchange);
    conn_dispose(&r->conn);
    api_request_enter(r, RQ_DONE);
    loop_cancel(&r->go_on);
    r->failure = *err;
    loop_defer_slow(r->client->loop, &r->tell_end);
}

/* ---- Which server? */

bool api_request_has_another(const struct request *r)
{
    return !r->pinned && attempts_left(&r->attempts, &r->client->servers, r->server);
}

/* A shortage of our own is not the fault of a server. */
static bool is_shortage(const struct err *err)
{
    return err->kind == ERR_IO &&
           (err->code == UV_EMFILE || err->code == UV_ENFILE || err->code == UV_ENOMEM);
}

bool api_request_try_another(struct request *r, const struct err *err, enum server_fault fault)
{
    struct api_client *c = r->client;

    if (is_shortage(err))
        fault = FAULT_NONE;
    attempts_failed(&r->attempts, &c->servers, r->server, err, fault, loop_now_ms(c->loop));
    if (fault == FAULT_NONE || !api_request_has_another(r))
        return false;
    exchange_dispose(&r->exchange);
    conn_dispose(&r->conn);
    api_error_reset(&r->refusal);
    api_server_leave(api_request_server(r), r);
    api_question_drop(r);
    r->server = SERVERS_NONE;
    r->peer = 0;
    r->follows = r->reused = r->fresh = r->served = false;
    api_request_start_later(r);
    return true;
}

void api_request_try_another_or_end(struct request *r, const struct err *err,
                                    enum server_fault fault)
{
    if (api_request_try_another(r, err, fault))
        return;
    struct err sum = attempts_sum(&r->attempts, &r->client->servers);
    api_request_end_later(r, &sum);
}

/* If the request was the leader, those that wait for it leave this server as well: each would
 * otherwise try in its turn a server that is probably down. */
void api_request_fail(struct request *r, const struct err *err, enum server_fault fault)
{
    struct api_client *c = r->client;
    size_t server = r->server;

    api_server_doubt(c->v[server]);
    if (api_server_leave(c->v[server], r))
        list_each (pos, tmp, &c->waiting) {
            struct request *other = list_entry(pos, struct request, wait);

            if (other->follows && other->server == server)
                api_request_try_another_or_end(other, err, fault);
        }
    api_request_try_another_or_end(r, err, fault);
}

/* The response broke off after its head, which the user has: no other server can go on with it. The
 * next request goes to another server, as this one may just have died. */
static void break_off(struct request *r, const struct err *err)
{
    api_server_doubt(api_request_server(r));
    servers_failed(&r->client->servers, r->server, err, loop_now_ms(r->client->loop));
    conn_dispose(&r->conn);
    release(r);
    api_request_enter(r, RQ_DONE);
    r->events->on_end(r->arg, err);
}

/* Logs that the server in use is another one now. */
static void tell_change(const struct api_client *c, size_t from)
{
    const struct server_health *was = &c->servers.v[from];
    const struct server_health *is = &c->servers.v[c->servers.in_use];
    bool failed = was->state != SERVER_GOOD;

    log_emit(failed ? LOG_LVL_WARN : LOG_LVL_INFO, "API server changed",
             LOG_FIELDS(
                 KV_STR("cluster", c->name), KV_STR("from", was->name), KV_STR("to", is->name),
                 KV_STR("because", failed ? was->err.text : "a server of a better tier is back")));
}

/* The server has answered the request. */
static void note_answer(struct request *r)
{
    struct api_client *c = r->client;
    size_t was = c->servers.in_use;

    attempts_answered(&r->attempts, &c->servers, r->server, loop_now_ms(c->loop));
    if (was != SERVERS_NONE && c->servers.in_use != was)
        tell_change(c, was);
}

/* ---- The response. */

/* The response is complete. */
static void succeed(struct request *r, bool reusable)
{
    if (reusable) {
        api_server_keep(api_request_server(r), &r->conn);
    } else { /* nobody can ask on this connection any more which cluster it was */
        r->peer = 0;
        conn_dispose(&r->conn);
    }
    release(r);
    api_request_enter(r, RQ_DONE);
    r->events->on_end(r->arg, NULL);
}

/* The request goes back to the head of the waiting requests, and takes a new connection. A GET can be
 * repeated, and so can the POSTs that this client takes: see request_params. */
static void repeat(struct request *r)
{
    struct api_client *c = r->client;

    api_question_drop(r);
    struct list *first = list_first(&c->waiting);

    conn_dispose(&r->conn);
    r->reused = false;
    r->fresh = true;
    api_request_enter(r, RQ_WAITING);
    list_append(first != NULL ? first : &c->waiting, &r->wait);
    dispatch_later(c);
}

/* A server that is dying, or the proxy in front of it, answers with a 5xx. With Retry-After it means
 * that clients shall come back to it. A server that cannot reach the webhook that checks tokens, or does
 * not know a new client CA yet, answers with a 401. */
static bool is_refusal(const struct request *r, const struct http_head *head)
{
    bool is_bad = head->status == 401 || (head->status >= 500 && head->retry_after_s < 0);

    return r->client->servers.n > 1 && !r->pinned && is_bad;
}

/* The head was a refusal: the request goes to another server. If none is left, the body says
 * why. */
static void refuse(struct request *r, const struct http_head *head)
{
    struct err err;

    api_request_enter(r, RQ_REFUSED);
    api_error_head(&r->refusal, head);
    err_set(&err, head->status == 401 ? ERR_UNAUTHORIZED : ERR_SERVER, head->status,
            "%s: status %d", conn_name(r->conn), head->status);
    (void)api_request_try_another(r, &err, FAULT_UNPROVEN);
}

/* The body of the last server's refusal is over, or enough of it has come. */
static void refused(struct request *r)
{
    struct err err;

    api_error_read(&r->refusal, &err);
    err_wrap(&err, "%s", conn_name(r->conn));
    api_request_try_another_or_end(r, &err, FAULT_UNPROVEN);
}

/* Does the head refuse credentials that were replaced since the request was sent? That says nothing
 * about the present ones. */
static bool is_outdated(const struct request *r, const struct http_head *head)
{
    const struct api_server *s = api_request_server(r);

    return head->status == 401 && (r->authorizations != api_server_authorizations(s) ||
                                   !api_server_is_current(s, r->conn));
}

/* The texts name the resource that they are about. */
static void tell_warnings(struct api_client *c, struct str lines)
{
    struct buf text = {0};

    while (warnings_next(&c->warnings, &lines, &text))
        log_warn("API server warns", KV_STR("cluster", c->name),
                 KV_STR("warning", buf_cstr(&text)));
    buf_free(&text);
}

static void on_head(void *arg, const struct http_head *head)
{
    struct request *r = arg;
    struct api_client *c = r->client;

    tell_warnings(c, head->warnings);
    c->last_contact_ms = loop_now_ms(c->loop);
    api_server_heard(api_request_server(r), r);
    servers_dated(&c->servers, r->server, head->date_s, r->sent_ns, loop_wall_ns());
    if (is_outdated(r, head)) {
        exchange_dispose(&r->exchange);
        repeat(r);
    } else if (c->asker == r) {
        server_identity_head(&c->server_identity, head);
    } else if (is_refusal(r, head)) {
        refuse(r, head);
    } else {
        note_answer(r);
        api_request_enter(r, RQ_ANSWERED);
        rate_begin(&r->rate, c->last_contact_ms);
        r->events->on_head(r->arg, head);
    }
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
    if (r->state == RQ_REFUSED) {
        if (!api_error_body(&r->refusal, data, n))
            refused(r);
        return;
    }
    if (r->placed && !rate_add(&r->rate, n, now_ms)) {
        /* Too slow for its place in the list gate, for which other requests wait. */
        err_set(&err, ERR_TIMEOUT, 0, "%s: the list came too slowly: less than %zu KiB in a minute",
                conn_name(r->conn), LIST_BYTES_PER_MINUTE / 1024);
        exchange_dispose(&r->exchange);
        break_off(r, &err);
        return;
    }
    r->events->on_body(r->arg, data, n);
}

static void on_end(void *arg, const struct err *err)
{
    struct request *r = arg;
    bool reusable = err == NULL && exchange_reusable(r->exchange);
    /* A timeout is no sign of a stale connection: the server may work on the request. */
    bool stale = err != NULL && r->reused && !exchange_heard(r->exchange) &&
                 (err->kind == ERR_CLOSED || err->kind == ERR_IO);

    exchange_dispose(&r->exchange);
    if (stale) { /* the server closed the connection, and has probably not read the request */
        api_server_doubt(api_request_server(r));
        repeat(r);
    } else if (r->client->asker == r) {
        api_question_over(r, err, reusable);
    } else if (r->state == RQ_REFUSED) {
        refused(r);
    } else if (err == NULL) {
        succeed(r, reusable);
    } else if (r->state == RQ_ANSWERED) {
        break_off(r, err);
    } else {
        r->unanswered = r->unanswered || err->kind == ERR_TIMEOUT;
        api_request_fail(r, err, FAULT_UNPROVEN);
    }
}

void api_request_send(struct request *r, struct http_request request, struct exchange_params params)
{
    static const struct exchange_events events = {on_head, on_body, on_end};
    const struct api_client *c = r->client;

    r->authorizations = api_server_authorizations(api_request_server(r));
    r->sent_ns = loop_wall_ns();
    request.method = request.json != NULL ? "POST" : "GET";
    request.user_agent = c->user_agent;
    request.headers = c->headers;
    r->exchange = api_server_send(api_request_server(r), r->conn, request, params, &events, r);
}

void api_request_talk(struct request *r)
{
    const struct api_client_params *p = &r->client->params;

    api_request_enter(r, RQ_TALKING);
    /* A watch is never asked for compressed: an event would wait in buffers on its way, and few bytes
     * would be saved (docs/decisions.md "Lists may come compressed, events never"). */
    api_request_send(
        r,
        (struct http_request){
            .target = r->target, .accept = r->accept, .gzip = r->list && p->gzip, .json = r->post},
        (struct exchange_params){
            .response_timeout_ms = p->response_timeout_ms,
            .idle_timeout_ms = r->list ? p->list_idle_timeout_ms : 0,
            .hard_deadline_ms = r->hard_deadline_ms,
        });
}

/* ---- Connections. */

static void on_open(void *arg)
{
    struct request *r = arg;

    api_server_opened(api_request_server(r), r->conn, r);
    api_question_begin(r);
}

/* The connection could not be made, or ended while the request waited to be sent on it. */
static void on_conn_closed(void *arg, const struct err *err)
{
    struct request *r = arg;

    api_request_fail(r, err, r->state == RQ_CONNECTING ? FAULT_CERTAIN : FAULT_UNPROVEN);
}

static void connect_fresh(struct request *r)
{
    static const struct conn_events events = {.on_open = on_open, .on_closed = on_conn_closed};

    api_request_enter(r, RQ_CONNECTING);
    r->conn = api_server_connect(api_request_server(r), new_peer(r->client, r->server), &events, r);
}

/* Decides to which server a request goes that is about to start. One that waited, for the leader or
 * in the list gate, decides anew, as that server may have failed meanwhile. An answer to the
 * question is of use only at the server that gave it. */
static void choose_server(struct request *r)
{
    struct api_client *c = r->client;

    if (r->pinned || r->served)
        return;
    r->server = servers_choose(&c->servers, r->attempts.tried, loop_now_ms(c->loop));
    ensure(r->server != SERVERS_NONE); /* a request that has tried all of them has ended */
}

/* Starts one waiting request if it has a place in the list gate and an idle connection, or may
 * connect. No callback runs before return. True: it connects. */
static bool try_start(struct request *r)
{
    struct api_client *c = r->client;
    struct conn *idle = NULL;

    if (r->gated && !r->placed && c->lists >= c->params.list_concurrency)
        return false;
    choose_server(r);
    struct api_server *server = api_request_server(r);
    if (!r->fresh)
        idle = api_server_take(server);
    if (idle == NULL && api_server_obstacle(server) != NULL) {
        struct err err;

        err_set(&err, ERR_CREDENTIAL, 0, "%s: %s", api_server_host(server),
                api_server_obstacle(server));
        api_request_try_another_or_end(r, &err, FAULT_CERTAIN);
        return false;
    }
    r->follows = idle == NULL && !api_server_may_connect(server, r);
    if (r->follows)
        return false;
    if (r->gated && !r->placed) /* a place is taken only when the request starts */
        c->lists++;
    r->placed = r->gated;
    r->reused = idle != NULL;
    r->conn = idle;
    if (idle != NULL)
        api_question_begin(r);
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

/* ---- The interface. */

static void begin_request(struct request *r)
{
    struct api_client *c = r->client;

    list_init(&r->link);
    list_init(&r->wait);
    loop_task_init(&r->tell_end, on_tell_end);
    loop_task_init(&r->go_on, api_question_go_on);
    api_request_enter(r, RQ_WAITING);
    list_append(&c->requests, &r->link);
}

struct request *api_client_request(struct api_client *c, const struct request_params *params,
                                   const struct request_events *events, void *arg)
{
    struct request *r = MEM_NEW(
        struct request, .client = c, .events = events, .arg = arg, .server = SERVERS_NONE,
        .target = mem_strdup(params->target), .accept = mem_strdup(params->accept),
        .post = mem_strdup(params->post), .list = params->list,
        .gated = params->list || params->stream, .identify_first = params->follows,
        .last_peer = params->last_peer, .last_ms = params->last_ms, .stream = params->stream,
        .asks_first = params->asks_first, .hard_deadline_ms = params->hard_deadline_ms);

    r->rate = (struct rate){MINUTE_MS, LIST_BYTES_PER_MINUTE, LIST_PAUSE_MS, 0, 0, 0};
    begin_request(r);
    list_append(&c->waiting, &r->wait);
    dispatch_later(c);
    return r;
}

struct conn *api_client_connect(struct api_client *c, size_t server,
                                const struct conn_events *events, void *arg)
{
    if (api_server_proxy_obstacle(c->v[server]) != NULL)
        return NULL;
    return api_server_connect(c->v[server], new_peer(c, server), events, arg);
}

struct request *api_client_identify(struct api_client *c, uint64_t peer,
                                    const struct request_events *events, void *arg)
{
    struct request *r =
        MEM_NEW(struct request, .client = c, .events = events, .arg = arg, .asks = true,
                .peer = peer, .pinned = peer != 0,
                .server = peer != 0 ? api_request_server_of_peer(c, peer) : SERVERS_NONE);

    begin_request(r);
    /* Servers are not asked: each one is taken for the right cluster's. */
    if (c->params.judge == NULL)
        api_request_end_later(r, &(struct err){0});
    else
        api_question_ask(r);
    return r;
}

/* A streaming list goes on as the watch, so its connection is never free for a question. */
uint64_t request_peer(const struct request *r)
{
    bool is_lost = r->stream && r->client != NULL && r->server != SERVERS_NONE &&
                   !api_server_has_sessions(api_request_server(r));

    return is_lost ? 0 : r->peer;
}

bool request_is_current(const struct request *r)
{
    return r->client == NULL || r->conn == NULL ||
           api_server_is_current(api_request_server(r), r->conn);
}

bool request_unanswered(const struct request *r)
{
    return r->unanswered;
}

void request_blame(struct request *r, const struct err *why)
{
    if (r->client != NULL && r->server != SERVERS_NONE)
        servers_failed(&r->client->servers, r->server, why, loop_now_ms(r->client->loop));
}

unsigned request_others(const struct request *r)
{
    if (r->client == NULL || r->server == SERVERS_NONE)
        return 0;
    return servers_others(&r->client->servers, r->server, r->attempts.tried,
                          loop_now_ms(r->client->loop));
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

/* Has the last request of a client gone that gets no others? */
static void look_empty(struct api_client *c)
{
    if (c->on_empty != NULL && list_is_empty(&c->requests))
        loop_defer(c->loop, &c->empty);
}

/* A question that follows a list may have come since. */
static void tell_empty(struct loop_task *task)
{
    struct api_client *c = container_of(task, struct api_client, empty);

    if (list_is_empty(&c->requests))
        c->on_empty(c->on_empty_arg);
}

void request_dispose(struct request **rp)
{
    struct request *r = *rp;

    if (r == NULL)
        return;
    *rp = NULL;
    struct api_client *c = r->client;

    if (c != NULL) { /* else it was disposed first */
        release(r);
        detach(r);
        look_empty(c);
    }
    api_error_reset(&r->refusal);
    attempts_reset(&r->attempts);
    free(r->target);
    free(r->accept);
    free(r->post);
    free(r);
}

/* A limit for connecting to one of n servers. */
static uint64_t share_of(uint64_t timeout_ms, size_t n)
{
    uint64_t least_ms = timeout_ms < SHARE_MS ? timeout_ms : SHARE_MS;

    return timeout_ms / n > least_ms ? timeout_ms / n : least_ms;
}

static void on_ask_timer(void *arg)
{
    api_question_next(arg);
}

static void on_server_change(void *arg)
{
    dispatch_later(arg);
}

static void add_servers(struct api_client *c, const struct api_client_params *params)
{
    size_t n = params->server_count;
    struct servers_entry *entries = mem_array(n, sizeof(*entries));

    c->v = mem_array(n, sizeof(struct api_server *));
    for (size_t i = 0; i < n; i++) {
        const struct api_client_server *from = &params->servers[i];

        entries[i] = (struct servers_entry){from->name, from->tier};
        c->v[i] = api_server_create(
            c->loop, &(struct api_server_params){
                         .url = from->url,
                         .tls_server_name = from->tls_server_name,
                         .resolver = c->resolver,
                         .proxy = from->proxy,
                         .proxy_tls = params->proxy_tls,
                         .connect_timeout_ms = share_of(params->connect_timeout_ms, n),
                         .tls_timeout_ms = share_of(params->tls_timeout_ms, n),
                         .on_change = on_server_change,
                         .arg = c,
                     });
    }
    servers_init(&c->servers, entries, n, params->seed);
    free(entries);
}

struct api_client *api_client_create(struct loop *loop, const struct api_client_params *params)
{
    ensure(params->list_concurrency > 0);
    struct api_client *c = MEM_NEW(
        struct api_client, .loop = loop, .params = *params, .name = mem_strdup(params->name),
        .user_agent = mem_strdup(params->user_agent), .headers = mem_strdup(params->headers),
        .server_identity = {.interval_ms = params->question_interval_ms,
                            .is_known = params->is_wary});
    list_init(&c->requests);
    list_init(&c->waiting);
    list_init(&c->asking);
    loop_task_init(&c->dispatch, on_dispatch);
    loop_task_init(&c->empty, tell_empty);
    if (c->params.proxy_tls != NULL)
        tls_ctx_ref(c->params.proxy_tls);
    c->resolver = resolver_create(loop);
    add_servers(c, params);
    c->ask_timer = deadline_create(loop, on_ask_timer, c);
    return c;
}

void api_client_set_tls(struct api_client *c, size_t server, struct tls_ctx *ctx)
{
    api_server_set_tls(c->v[server], ctx);
    servers_renewed(&c->servers, server);
}

void api_client_set_authorization(struct api_client *c, size_t server, const char *value)
{
    api_server_set_authorization(c->v[server], value);
}

void api_client_retire(struct api_client *c, void (*on_empty)(void *arg), void *arg)
{
    c->on_empty = on_empty;
    c->on_empty_arg = arg;
    for (size_t i = 0; i < c->servers.n; i++)
        api_server_drop_idle(c->v[i]);
    look_empty(c);
}

uint64_t api_client_last_contact_ms(const struct api_client *c)
{
    return c->last_contact_ms;
}

const char *api_client_name(const struct api_client *c)
{
    return c->name;
}

const struct servers *api_client_servers(const struct api_client *c)
{
    return &c->servers;
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
    for (size_t i = 0; i < c->servers.n; i++)
        api_server_dispose(&c->v[i]);
    free(c->v);
    tls_ctx_unref(&c->params.proxy_tls);
    resolver_dispose(&c->resolver);
    servers_fini(&c->servers);
    loop_cancel(&c->dispatch);
    loop_cancel(&c->empty);
    server_identity_fini(&c->server_identity);
    deadline_dispose(&c->ask_timer);
    free(c->name);
    free(c->user_agent);
    free(c->headers);
    free(c);
}
