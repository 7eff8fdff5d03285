/* SPDX-License-Identifier: Apache-2.0 */
#include "io/exchange.h"

#include <stdlib.h>
#include <uv.h>

#include "base/buf.h"
#include "base/log.h"
#include "base/mem.h"
#include "io/conn.h"
#include "io/loop.h"
#include "proto/gzip.h"
#include "proto/http_in.h"
#include "proto/http_out.h"

enum exchange_state { EX_HEAD, EX_BODY, EX_DONE };

struct exchange {
    uv_timer_t timer; /* the next deadline of the state; open until dispose */
    struct loop *loop;
    struct conn *conn; /* borrowed; NULL once the exchange has ended */
    struct http_in *in;
    bool accepts_gzip;
    struct gzip *gzip; /* NULL = the body is not compressed */
    enum exchange_state state;
    const struct exchange_events *events; /* NULL once disposed */
    void *arg;
    uint64_t response_timeout_ms;
    uint64_t idle_timeout_ms;
    uint64_t hard_deadline_ms;
    uint64_t head_ms;  /* when the head was complete */
    uint64_t heard_ms; /* when content of the body came last */
    bool heard;        /* any byte of the response has come */
    bool reusable;     /* of the connection, once the response is complete */
};

static void on_timer(uv_timer_t *timer);

/* When the next limit of the body is over, UINT64_MAX = the body has no limit. */
static uint64_t body_due_ms(const struct exchange *x)
{
    uint64_t idle = x->idle_timeout_ms > 0 ? x->heard_ms + x->idle_timeout_ms : UINT64_MAX;
    uint64_t hard = x->hard_deadline_ms > 0 ? x->head_ms + x->hard_deadline_ms : UINT64_MAX;

    return idle < hard ? idle : hard;
}

static void arm(struct exchange *x, uint64_t due_ms)
{
    uint64_t now_ms = loop_now_ms(x->loop);

    if (due_ms != UINT64_MAX)
        uv_timer_start(&x->timer, on_timer, due_ms > now_ms ? due_ms - now_ms : 1, 0);
}

static void enter(struct exchange *x, enum exchange_state state)
{
    static const char *const names[] = {"head", "body", "done"};

    x->state = state;
    uv_timer_stop(&x->timer);
    if (state == EX_HEAD && x->response_timeout_ms > 0)
        arm(x, loop_now_ms(x->loop) + x->response_timeout_ms);
    else if (state == EX_BODY)
        arm(x, body_due_ms(x));
    log_trace("exchange", KV_STR("on", x->conn != NULL ? conn_name(x->conn) : ""),
              KV_STR("state", names[state]));
}

/* Every exchange that is not disposed ends here. The connection has no owner before on_end runs, so
 * that on_end can keep it in a pool, or dispose it. */
static void finish(struct exchange *x, const struct err *err)
{
    enter(x, EX_DONE);
    conn_set_events(x->conn, NULL, NULL);
    x->conn = NULL;
    x->events->on_end(x->arg, err);
}

static void fail(struct exchange *x, struct err *err)
{
    err_wrap(err, "%s", conn_name(x->conn));
    finish(x, err);
}

/* The body is complete, unless it ends within a gzip member. */
static void complete(struct exchange *x)
{
    struct err err;

    if (x->gzip != NULL && gzip_end(x->gzip, &err) != ERR_OK)
        fail(x, &err);
    else
        finish(x, NULL);
}

static void timed_out(struct exchange *x, const char *what, uint64_t ms, const char *which)
{
    struct err err;

    err_set(&err, ERR_TIMEOUT, 0, "%s: %s %llu ms (%s)", conn_name(x->conn), what,
            (unsigned long long)ms, which);
    finish(x, &err);
}

static void on_timer(uv_timer_t *timer)
{
    struct exchange *x = container_of(timer, struct exchange, timer);
    uint64_t now_ms = loop_now_ms(x->loop);

    if (x->state == EX_HEAD)
        timed_out(x, "no response for", x->response_timeout_ms, "response timeout");
    else if (now_ms < body_due_ms(x)) /* bytes came meanwhile: on_data() does not move the timer */
        arm(x, body_due_ms(x));
    else if (x->hard_deadline_ms > 0 && now_ms >= x->head_ms + x->hard_deadline_ms)
        timed_out(x, "the response did not end within", x->hard_deadline_ms, "hard deadline");
    else
        timed_out(x, "the response stopped for", x->idle_timeout_ms, "idle timeout");
}

/* A body in a coding that was not asked for would be taken for broken JSON, or for a watch that
 * says nothing. */
static void take_head(struct exchange *x)
{
    const struct http_head *head = http_in_head(x->in);
    bool gzip = x->accepts_gzip && str_is(head->content_encoding, "gzip");
    struct err err;

    if (head->content_encoding.n > 0 && !gzip) {
        err_set(
            &err, ERR_PROTOCOL, head->status,
            "HTTP response: status %d with Content-Encoding %.*s, which was not asked for: does "
            "a proxy add it?",
            head->status, STR_ARG(head->content_encoding));
        fail(x, &err);
        return;
    }
    if (gzip)
        x->gzip = gzip_create();
    x->head_ms = x->heard_ms = loop_now_ms(x->loop);
    enter(x, EX_BODY);
    x->events->on_head(x->arg, head);
}

static void give(struct exchange *x, struct str content)
{
    x->heard_ms = loop_now_ms(x->loop);
    x->events->on_body(x->arg, content.p, content.n);
}

/* Bytes that bring no content do not count as heard, so the idle timeout ends a row of empty
 * members. */
static void decompress(struct exchange *x, struct str piece)
{
    enum gzip_part part = GZIP_PIECE;
    struct str content;
    struct err err;

    while (x->events != NULL && part == GZIP_PIECE) {
        part = gzip_read(x->gzip, &piece, &content, &err);
        if (part == GZIP_FAILED) {
            fail(x, &err);
        } else if (part == GZIP_PIECE) {
            conn_count(x->conn, content.n);
            give(x, content);
        }
    }
}

static void on_data(void *arg, const char *data, size_t n)
{
    struct exchange *x = arg;
    struct str left = str_of(data, n);
    struct str piece;
    struct err err;

    x->heard = true;
    /* Each callback may dispose the exchange; its memory lives until a later turn. */
    while (x->events != NULL && x->state != EX_DONE) {
        switch (http_in_read(x->in, &left, &piece, &err)) {
        case HTTP_IN_MORE:
            return;
        case HTTP_IN_HEAD:
            take_head(x);
            break;
        case HTTP_IN_BODY:
            if (x->gzip != NULL)
                decompress(x, piece);
            else
                give(x, piece);
            break;
        case HTTP_IN_END:
            /* Bytes behind the response belong to no request: the connection cannot be trusted any
             * more. */
            x->reusable = http_in_reusable(x->in) && left.n == 0;
            complete(x);
            return;
        case HTTP_IN_FAILED:
            err.kind = ERR_PROTOCOL; /* also if too big: no setting makes room for such a head */
            fail(x, &err);
            return;
        }
    }
}

/* A body without a length ends with the connection, which is no error then. */
static void on_closed(void *arg, const struct err *why)
{
    static const char *const where[] = {"before it answered", "in the middle of its response", ""};
    struct exchange *x = arg;
    struct err err;

    if (why->kind == ERR_CLOSED && http_in_eof(x->in, NULL) == ERR_OK) {
        complete(x);
        return;
    }
    err_set(&err, why->kind, why->code, "%s, %s", why->text, where[x->state]);
    finish(x, &err);
}

struct exchange *exchange_create(struct loop *loop, struct conn *conn,
                                 const struct exchange_params *params,
                                 const struct exchange_events *events, void *arg)
{
    static const struct conn_events from_conn = {.on_data = on_data, .on_closed = on_closed};
    struct exchange *x = MEM_NEW(
        struct exchange, .loop = loop, .conn = conn, .events = events, .arg = arg,
        .accepts_gzip = params->request->gzip, .response_timeout_ms = params->response_timeout_ms,
        .idle_timeout_ms = params->idle_timeout_ms, .hard_deadline_ms = params->hard_deadline_ms);
    struct buf head = {0};

    x->in =
        http_in_create(HTTP_IN_RESPONSE, &(struct http_limits){.head_bytes = EXCHANGE_HEAD_BYTES});
    uv_timer_init(loop_uv(loop), &x->timer);
    conn_set_events(conn, &from_conn, x);
    http_out_request(&head, params->request);
    conn_write(conn, head.data, head.len);
    mem_wipe(head.data, head.len); /* it has the bearer token */
    buf_free(&head);
    enter(x, EX_HEAD);
    return x;
}

bool exchange_heard(const struct exchange *x)
{
    return x->heard;
}

bool exchange_reusable(const struct exchange *x)
{
    return x->state == EX_DONE && x->reusable;
}

static void on_timer_closed(uv_handle_t *timer)
{
    struct exchange *x = container_of((uv_timer_t *)timer, struct exchange, timer);

    /* Only here: exchange_dispose() may run inside on_data(), which still reads. */
    http_in_destroy(&x->in);
    gzip_destroy(&x->gzip);
    free(x);
}

void exchange_dispose(struct exchange **xp)
{
    struct exchange *x = *xp;

    if (x == NULL)
        return;
    *xp = NULL;
    x->events = NULL;
    if (x->conn != NULL)
        conn_set_events(x->conn, NULL, NULL);
    x->conn = NULL;
    uv_close((uv_handle_t *)&x->timer, on_timer_closed);
}
