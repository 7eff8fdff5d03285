/* SPDX-License-Identifier: Apache-2.0 */
#include "io/conn.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "base/buf.h"
#include "base/compiler.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/panic.h"
#include "io/dial.h"
#include "io/loop.h"
#include "io/resolver.h"
#include "proto/http_in.h"
#include "proto/proxy.h"
#include "proto/tls.h"

/* The events of a connection without an owner. */
static const struct conn_events nobody;

/* The state of a connection through a proxy: needed until the proxy has opened the tunnel, and for
 * errors on the way to it. */
struct via {
    char *name;         /* HOST:PORT of the proxy */
    struct buf request; /* CONNECT; secret; empty once it was sent */
    bool has_credentials;
    struct http_in *answer;
};

struct conn {
    struct loop *loop;
    enum conn_state state;
    enum conn_state reached; /* the last state before CLOSED */
    const struct conn_events *events;
    void *arg;
    bool told; /* on_closed was called */

    char *name;      /* HOST:PORT */
    struct via *via; /* NULL = no proxy */
    struct tls_ctx *ctx;
    struct tls *tls;       /* with the server; NULL = plain */
    struct tls *proxy_tls; /* with the proxy, around everything; NULL = plain */
    uint64_t connect_timeout_ms;
    uint64_t tls_timeout_ms;
    uint64_t peer;
    uint64_t resume_peer;
    bool is_identified;
    void (*on_session)(void *arg, struct conn *c, struct tls_session *session);
    void *session_arg;

    struct resolver *resolver;
    char *dialed;           /* the host that is connected to: of the server, or of the proxy */
    struct dial *dial;      /* DIALING */
    uv_tcp_t *tcp;          /* NULL before, and after conn_dispose() */
    struct address address; /* of tcp */
    struct err failure;     /* CLOSED: for on_closed */

    uv_timer_t timer;         /* deadline of the state; open until dispose */
    size_t burst;             /* bytes read in a row without finding the socket empty */
    struct loop_task read_on; /* reading goes on after a burst */
    struct loop_task shake;   /* the next handshake step */
    struct loop_task tell_end;
};

static void on_timer(uv_timer_t *timer);

/* DIALING has the deadlines of io/dial; OPEN has none: see conn.h. */
static void enter(struct conn *c, enum conn_state state)
{
    static const char *const names[] = {
        "dialing", "proxy handshaking", "proxy asking", "handshaking", "open", "closed"};

    c->state = state;
    if (state != CONN_CLOSED)
        c->reached = state;
    uv_timer_stop(&c->timer);
    if (state == CONN_PROXY_ASKING)
        uv_timer_start(&c->timer, on_timer, c->connect_timeout_ms, 0);
    else if (state == CONN_PROXY_HANDSHAKING || state == CONN_HANDSHAKING)
        uv_timer_start(&c->timer, on_timer, c->tls_timeout_ms, 0);
    if (state != CONN_DIALING) /* that has log lines of its own */
        log_debug("connection", KV_STR("to", c->name), KV_STR("state", names[state]));
}

static void on_tell_end(struct loop_task *task)
{
    struct conn *c = container_of(task, struct conn, tell_end);

    if (c->told || c->events->on_closed == NULL)
        return; /* conn_set_events() tells the next owner */
    c->told = true;
    c->events->on_closed(c->arg, &c->failure);
}

/* Is the connection still on its way to the proxy, or waits for it? */
static bool is_at_proxy(const struct conn *c)
{
    return c->via != NULL && c->state < CONN_HANDSHAKING;
}

/* Appends where the socket leads to: " (through proxy HOST:PORT)", or " (ADDRESS)". The error names
 * the dialed host already, so an IP literal would stand there twice. */
static void put_address(const struct conn *c, struct buf *out)
{
    struct buf text = {0};

    if (c->via != NULL && !is_at_proxy(c)) {
        buf_printf(out, " (through proxy %s)", c->via->name);
        return;
    }
    address_put(&text, &c->address);
    if (!str_is(buf_str(&text), c->dialed))
        buf_printf(out, " (%s)", buf_cstr(&text));
    buf_free(&text);
}

/* A connection that fails before it is open speaks against its address: the next one tries others
 * first. Behind a proxy a failed handshake is not the proxy's fault. */
static void note_address(struct conn *c, bool worked)
{
    if (c->resolver != NULL && (worked || c->via == NULL || is_at_proxy(c)))
        resolver_note(c->resolver, c->dialed, &c->address, worked);
}

/* Every failure, in whatever state, and every end by the peer goes through here. on_closed follows
 * in the next turn, because callers of conn_write() and conn_create() must not be called back. The
 * socket stays open until conn_dispose(). */
static void end(struct conn *c, enum err_kind kind, int code, const char *why)
{
    static const char *const doing[] = {"", "TLS handshake: ", "", "TLS handshake: ", "", ""};
    struct buf text = {0};

    if (c->state == CONN_CLOSED)
        return;
    buf_printf(&text, "%s: ", c->name);
    if (is_at_proxy(c))
        buf_printf(&text, "proxy %s: ", c->via->name);
    buf_puts(&text, kind == ERR_TLS ? "" : doing[c->state]);
    buf_puts(&text, why);
    if (c->tcp != NULL) {
        put_address(c, &text);
        if (c->state != CONN_OPEN)
            note_address(c, false);
        uv_read_stop((uv_stream_t *)c->tcp);
    }
    err_set(&c->failure, kind, code, "%s", buf_cstr(&text));
    buf_free(&text);
    enter(c, CONN_CLOSED);
    loop_cancel(&c->read_on);
    loop_cancel(&c->shake);
    loop_defer_slow(c->loop, &c->tell_end);
}

/* A write and its bytes, which libuv needs until on_written(). */
struct outgoing {
    uv_write_t req;
    size_t n;
    char data[];
};

/* Without TLS the bytes may be a token, or the password for a proxy. */
static void free_outgoing(struct outgoing *o)
{
    mem_wipe(o->data, o->n);
    free(o);
}

/* A write that failed later is not reported: the read side finds the broken connection, after it
 * has read the last bytes that the peer sent, for instance an error response. */
static void on_written(uv_write_t *req, int status)
{
    (void)status;
    free_outgoing(container_of(req, struct outgoing, req));
}

static void send_bytes(struct conn *c, const char *data, size_t n)
{
    struct outgoing *o = mem_alloc(sizeof(*o) + n);
    uv_buf_t bytes = uv_buf_init(o->data, (unsigned)n);

    o->n = n;
    memcpy(o->data, data, n);
    int e = uv_write(&o->req, (uv_stream_t *)c->tcp, &bytes, 1, on_written);

    if (e == 0)
        return;
    free_outgoing(o);
    end(c, ERR_IO, e, uv_strerror(e));
}

static void end_tls(struct conn *c, enum tls_result result, const struct err *err)
{
    if (result != TLS_CLOSED)
        end(c, err->kind, err->code, err->text);
    else
        end(c, ERR_CLOSED, 0,
            is_at_proxy(c) ? "the proxy closed the connection"
                           : "the server closed the connection");
}

/* The TLS engines have no socket: each call of one may leave bytes to send. */
static void flush_proxy_tls(struct conn *c)
{
    struct str out = tls_out(c->proxy_tls);

    if (out.n == 0)
        return;
    send_bytes(c, out.p, out.n);
    tls_sent(c->proxy_tls, out.n);
}

/* Sends bytes to the server, or CONNECT to the proxy: within the proxy's TLS if there is one. */
static void send_inside(struct conn *c, const char *data, size_t n)
{
    struct err err = {0};

    if (c->proxy_tls == NULL) {
        send_bytes(c, data, n);
        return;
    }
    enum tls_result result = tls_write(c->proxy_tls, data, n, &err);

    flush_proxy_tls(c);
    if (result != TLS_OK)
        end_tls(c, result, &err);
}

static void flush_tls(struct conn *c)
{
    struct str out = tls_out(c->tls);

    if (out.n == 0)
        return;
    send_inside(c, out.p, out.n);
    tls_sent(c->tls, out.n);
}

/* TLS 1.2 has a session after the handshake, TLS 1.3 finds one while it reads. */
static void hand_out_session(struct conn *c)
{
    struct tls_session *session = tls_take_session(c->tls);

    if (session != NULL && c->on_session != NULL)
        c->on_session(c->session_arg, c, session);
    else
        tls_session_free(&session);
}

/* Decrypts and delivers the bytes that tls_feed() got. The plain text goes into the receive buffer
 * that the ciphertext came in: the engine has copied the ciphertext. on_data may change the
 * state. */
static void decrypt(struct conn *c)
{
    char *plain = loop_recv_buffer(c->loop);
    enum tls_result result = TLS_OK;
    struct err err = {0};

    while (result == TLS_OK && c->state == CONN_OPEN) {
        size_t n = 0;

        result = tls_read(c->tls, plain, LOOP_RECV_BYTES, &n, &err);
        flush_tls(c); /* tls_read() may answer with an alert or a key update */
        hand_out_session(c);
        if (result == TLS_OK && c->state == CONN_OPEN && c->events->on_data != NULL)
            c->events->on_data(c->arg, plain, n);
    }
    if (result == TLS_CLOSED || result == TLS_FAILED)
        end_tls(c, result, &err);
}

static void on_alloc(uv_handle_t *tcp, size_t suggested, uv_buf_t *buf)
{
    struct conn *c = tcp->data;

    (void)suggested;
    *buf = uv_buf_init(loop_recv_buffer(c->loop), LOOP_RECV_BYTES);
}

/* UV_ETIMEDOUT on an open connection comes from keepalive or TCP_USER_TIMEOUT (tune()). */
static void end_of_stream(struct conn *c, int status)
{
    if (status == UV_EOF)
        end_tls(c, TLS_CLOSED, NULL);
    else if (status == UV_ETIMEDOUT)
        end(c, ERR_TIMEOUT, status, "the server does not answer any more (TCP keepalive)");
    else
        end(c, ERR_IO, status, uv_strerror(status));
}

/* A handshake step costs milliseconds, so it waits for its turn (loop_defer_slow()). Nothing more is
 * read before: the engine's input must stay bounded (proto/tls.h). */
static void shake_later(struct conn *c)
{
    uv_read_stop((uv_stream_t *)c->tcp);
    loop_defer_slow(c->loop, &c->shake);
}

static void read_answer(struct conn *c, struct str data);

/* Takes bytes of the server, or the proxy's answer to CONNECT, without the proxy's TLS. */
static void take(struct conn *c, const char *data, size_t n)
{
    if (c->state == CONN_PROXY_ASKING) {
        read_answer(c, str_of(data, n));
        return;
    }
    if (c->tls != NULL)
        tls_feed(c->tls, data, n);
    if (c->state == CONN_HANDSHAKING)
        shake_later(c);
    else if (c->tls != NULL)
        decrypt(c);
    else if (c->events->on_data != NULL)
        c->events->on_data(c->arg, data, n);
}

/* The same as decrypt() for the TLS of the proxy; take() has copied the bytes of one round before
 * the next round writes over them. */
static void decrypt_proxy(struct conn *c)
{
    char *plain = loop_recv_buffer(c->loop);
    enum tls_result result = TLS_OK;
    struct err err = {0};

    while (result == TLS_OK && c->state != CONN_CLOSED) {
        size_t n = 0;

        result = tls_read(c->proxy_tls, plain, LOOP_RECV_BYTES, &n, &err);
        flush_proxy_tls(c);
        if (result == TLS_OK && c->state != CONN_CLOSED)
            take(c, plain, n);
    }
    if (result == TLS_CLOSED || result == TLS_FAILED)
        end_tls(c, result, &err);
}

static void on_read(uv_stream_t *tcp, ssize_t n, const uv_buf_t *buf)
{
    struct conn *c = tcp->data;

    if (n < 0) {
        end_of_stream(c, (int)n);
        return;
    }
    /* A read that did not fill the buffer has emptied the socket: libuv turns to others by
     * itself. */
    c->burst = (size_t)n < buf->len ? 0 : c->burst + (size_t)n;
    if (n == 0)
        return;
    if (c->proxy_tls != NULL)
        tls_feed(c->proxy_tls, buf->base, (size_t)n);
    if (c->state == CONN_PROXY_HANDSHAKING)
        shake_later(c);
    else if (c->proxy_tls != NULL)
        decrypt_proxy(c);
    else
        take(c, buf->base, (size_t)n);
    if (c->burst < CONN_BURST_BYTES || c->state != CONN_OPEN)
        return;
    /* libuv would go on reading from a full socket: other connections come first. */
    c->burst = 0;
    uv_read_stop(tcp);
    loop_defer(c->loop, &c->read_on);
}

/* A socket that is being read already goes on. */
static void start_reading(struct conn *c)
{
    int e = uv_read_start((uv_stream_t *)c->tcp, on_alloc, on_read);

    if (e != 0 && e != UV_EALREADY)
        end(c, ERR_IO, e, uv_strerror(e));
}

static void on_read_on(struct loop_task *task)
{
    start_reading(container_of(task, struct conn, read_on));
}

/* The handshake is done, or the connection is plain TCP. on_open comes before any data, and may end
 * or dispose the connection. */
static void opened(struct conn *c)
{
    enter(c, CONN_OPEN);
    note_address(c, true);
    if (c->tls != NULL)
        hand_out_session(c);
    if (c->events->on_open != NULL)
        c->events->on_open(c->arg);
    if (c->state == CONN_OPEN && c->tls != NULL)
        decrypt(c); /* bytes that came together with the end of the handshake */
    if (c->state == CONN_OPEN)
        start_reading(c);
}

/* The way to the server is open. The first step of the handshake makes the ClientHello, without any
 * bytes from the server. */
static void reached_server(struct conn *c)
{
    if (c->tls == NULL) {
        opened(c);
        return;
    }
    enter(c, CONN_HANDSHAKING);
    shake_later(c);
}

/* Reads the proxy's answer to CONNECT. The bytes behind its head are the server's; they are copied,
 * as on_open may use the receive buffer. */
static void read_answer(struct conn *c, struct str data)
{
    struct str piece;
    struct err err = {0};
    struct buf rest = {0};
    enum http_in_part part = http_in_read(c->via->answer, &data, &piece, &err);

    if (part == HTTP_IN_MORE)
        return;
    if (part == HTTP_IN_HEAD)
        (void)!proxy_judge(http_in_head(c->via->answer)->status, c->via->has_credentials, &err);
    if (err.kind != ERR_OK) {
        /* ERR_IO for every error of the proxy: ERR_PROTOCOL would say that the server has answered the
         * request. */
        end(c, ERR_IO, err.code, err.text);
        return;
    }
    http_in_destroy(&c->via->answer);
    buf_append_str(&rest, data);
    reached_server(c);
    if (rest.len > 0 && c->state != CONN_CLOSED)
        take(c, rest.data, rest.len);
    buf_free(&rest);
}

static void wipe_request(struct via *via)
{
    mem_wipe(via->request.data, via->request.cap);
    buf_free(&via->request);
}

/* The proxy is connected, and verified if it has TLS. */
static void reached_proxy(struct conn *c)
{
    enter(c, CONN_PROXY_ASKING);
    send_inside(c, c->via->request.data, c->via->request.len);
    wipe_request(c->via);
    if (c->state == CONN_PROXY_ASKING)
        start_reading(c);
}

static void on_shake(struct loop_task *task)
{
    struct conn *c = container_of(task, struct conn, shake);
    enum conn_state state = c->state;
    struct err err = {0};
    enum tls_result result =
        tls_handshake(state == CONN_PROXY_HANDSHAKING ? c->proxy_tls : c->tls, &err);

    if (state == CONN_PROXY_HANDSHAKING)
        flush_proxy_tls(c);
    else
        flush_tls(c);
    if (c->state != state) /* sending failed */
        return;
    if (result == TLS_WANT)
        start_reading(c);
    else if (result != TLS_OK)
        end_tls(c, result, &err);
    else if (state == CONN_PROXY_HANDSHAKING)
        reached_proxy(c);
    else
        opened(c);
}

/* TCP_NODELAY: with Nagle's algorithm and delayed ACKs each TLS 1.3 connection started 44 ms later,
 * measured over loopback (docs/kubernetes-protocol.md "Keep-alive"). Keepalive with
 * TCP_USER_TIMEOUT finds a dead connection (docs/kubernetes-protocol.md "Dead connections"): both
 * limits are 40 s, 25 + 3 * 5 s for the probes, and 40000 ms. Returns 0, or UV_E* of the first
 * option that failed; the options after that one are not set then. */
static int tune(const uv_tcp_t *tcp)
{
    static const int options[][3] = {
        {IPPROTO_TCP, TCP_NODELAY,      1    },
        {SOL_SOCKET,  SO_KEEPALIVE,     1    },
        {IPPROTO_TCP, TCP_KEEPIDLE,     25   },
        {IPPROTO_TCP, TCP_KEEPINTVL,    5    },
        {IPPROTO_TCP, TCP_KEEPCNT,      3    },
        {IPPROTO_TCP, TCP_USER_TIMEOUT, 40000},
    };
    uv_os_fd_t fd;
    int e = uv_fileno((const uv_handle_t *)tcp, &fd);

    for (size_t i = 0; e == 0 && i < ARRAY_LEN(options); i++)
        if (setsockopt(fd, options[i][0], options[i][1], &options[i][2], sizeof(int)) != 0)
            e = uv_translate_sys_error(errno);
    return e;
}

static void on_connected(void *arg, struct uv_tcp_s *tcp, const struct address *to)
{
    struct conn *c = arg;

    c->tcp = tcp;
    c->tcp->data = c;
    c->address = *to;
    dial_dispose(&c->dial);
    /* A connection without these options works; only its death is found later. */
    int e = tune(c->tcp);

    if (e != 0)
        log_warn("socket options were refused", KV_STR("to", c->name),
                 KV_STR("reason", uv_strerror(e)));
    if (c->proxy_tls != NULL) {
        enter(c, CONN_PROXY_HANDSHAKING);
        shake_later(c);
    } else if (c->via != NULL) {
        reached_proxy(c);
    } else {
        reached_server(c);
    }
}

static void on_dial_failed(void *arg, const struct err *err)
{
    struct conn *c = arg;

    end(c, err->kind, err->code, err->text);
}

/* The deadline of the state is over. */
static void on_timer(uv_timer_t *timer)
{
    struct conn *c = container_of(timer, struct conn, timer);
    bool asking = c->state == CONN_PROXY_ASKING;
    char why[64];

    (void)snprintf(why, sizeof(why), "no answer%s within %llu ms", asking ? " to CONNECT" : "",
                   (unsigned long long)(asking ? c->connect_timeout_ms : c->tls_timeout_ms));
    end(c, ERR_TIMEOUT, UV_ETIMEDOUT, why);
}

/* "HOST:PORT"; the caller frees it. Only IPv6 literals have colons. */
static char *name_of(const char *host, uint16_t port)
{
    return mem_printf(strchr(host, ':') != NULL ? "[%s]:%u" : "%s:%u", host, (unsigned)port);
}

static void set_proxy(struct conn *c, const struct conn_params *params)
{
    const struct http_limits limits = {.head_bytes = PROXY_ANSWER_BYTES};
    const struct proxy *p = params->proxy;

    c->via = MEM_NEW(struct via, .name = name_of(p->url.host, p->url.port),
                     .has_credentials = p->authorization != NULL,
                     .answer = http_in_create(HTTP_IN_RESPONSE, &limits));
    proxy_put_connect(&c->via->request, p, params->host, params->port);
    if (p->url.tls)
        c->proxy_tls = tls_create(params->proxy_tls, p->url.host, NULL);
}

static void start_dialing(struct conn *c, const struct conn_params *params)
{
    static const struct dial_events events = {on_connected, on_dial_failed};
    const struct dial_params dial = {
        .loop = c->loop,
        .resolver = params->resolver,
        .host = c->dialed,
        .port = params->proxy != NULL ? params->proxy->url.port : params->port,
        .timeout_ms = params->connect_timeout_ms,
    };

    c->dial = dial_create(&dial, c->name, &events, c);
}

struct conn *conn_create(struct loop *loop, const struct conn_params *params,
                         const struct conn_events *events, void *arg)
{
    const char *dialed = params->proxy != NULL ? params->proxy->url.host : params->host;
    struct conn *c = MEM_NEW(struct conn, .loop = loop, .name = name_of(params->host, params->port),
                             .dialed = mem_strdup(dialed), .resolver = params->resolver,
                             .connect_timeout_ms = params->connect_timeout_ms,
                             .tls_timeout_ms = params->tls_timeout_ms,
                             .on_session = params->on_session, .session_arg = params->session_arg,
                             .peer = params->peer, .resume_peer = params->resume_peer);

    if (params->tls != NULL) {
        c->ctx = tls_ctx_ref(params->tls);
        c->tls =
            tls_create(c->ctx, params->server_name != NULL ? params->server_name : params->host,
                       params->resume);
    }
    if (params->proxy != NULL)
        set_proxy(c, params);
    loop_task_init(&c->read_on, on_read_on);
    loop_task_init(&c->shake, on_shake);
    loop_task_init(&c->tell_end, on_tell_end);
    uv_timer_init(loop_uv(loop), &c->timer);
    conn_set_events(c, events, arg);
    enter(c, CONN_DIALING);
    start_dialing(c, params);
    return c;
}

void conn_set_events(struct conn *c, const struct conn_events *events, void *arg)
{
    c->events = events != NULL ? events : &nobody;
    c->arg = arg;
    /* The connection ended while it had no owner. */
    if (c->state == CONN_CLOSED && !c->told)
        loop_defer(c->loop, &c->tell_end);
}

void conn_write(struct conn *c, const char *data, size_t n)
{
    struct err err = {0};

    ensure(c->state == CONN_OPEN || c->state == CONN_CLOSED);
    if (c->state == CONN_CLOSED)
        return;
    if (c->tls == NULL) {
        send_inside(c, data, n);
        return;
    }
    enum tls_result result = tls_write(c->tls, data, n, &err);

    flush_tls(c);
    if (result != TLS_OK)
        end_tls(c, result, &err);
}

void conn_count(struct conn *c, size_t n)
{
    c->burst += n;
}

enum conn_state conn_state(const struct conn *c)
{
    return c->state;
}

enum conn_state conn_reached(const struct conn *c)
{
    return c->reached;
}

void conn_put_way(struct buf *out, const struct conn *c)
{
    ensure(c->state > CONN_DIALING && c->tcp != NULL);
    buf_puts(out, c->name);
    put_address(c, out);
}

void conn_put_peer(struct buf *out, const struct conn *c)
{
    ensure(c->state == CONN_OPEN && c->tls != NULL);
    tls_put_peer(out, c->tls);
}

const struct tls_ctx *conn_tls_ctx(const struct conn *c)
{
    return c->ctx;
}

const char *conn_name(const struct conn *c)
{
    return c->name;
}

bool conn_resumed(const struct conn *c)
{
    return c->tls != NULL && tls_resumed(c->tls);
}

uint64_t conn_peer(const struct conn *c)
{
    return conn_resumed(c) ? c->resume_peer : c->peer;
}

void conn_set_identified(struct conn *c)
{
    c->is_identified = true;
}

bool conn_is_identified(const struct conn *c)
{
    return c->is_identified;
}

static void free_via(struct via *via)
{
    if (via == NULL)
        return;
    wipe_request(via);
    http_in_destroy(&via->answer);
    free(via->name);
    free(via);
}

/* conn_dispose() may be called by a callback of the connection, whose callers still use it: so the
 * memory goes here, in a later turn. */
static void on_timer_closed(uv_handle_t *timer)
{
    struct conn *c = container_of((uv_timer_t *)timer, struct conn, timer);

    tls_destroy(&c->tls);
    tls_destroy(&c->proxy_tls);
    tls_ctx_unref(&c->ctx);
    free_via(c->via);
    free(c->dialed);
    free(c->name);
    free(c);
}

void conn_dispose(struct conn **cp)
{
    struct conn *c = *cp;

    if (c == NULL)
        return;
    *cp = NULL;
    c->events = &nobody;
    c->on_session = NULL;
    if (c->state == CONN_OPEN && c->tls != NULL) { /* close_notify */
        tls_close(c->tls);
        flush_tls(c);
    }
    if (c->state == CONN_OPEN && c->proxy_tls != NULL) {
        tls_close(c->proxy_tls);
        flush_proxy_tls(c);
    }
    enter(c, CONN_CLOSED);
    dial_dispose(&c->dial);
    loop_cancel(&c->read_on);
    loop_cancel(&c->shake);
    loop_cancel(&c->tell_end);
    uv_close((uv_handle_t *)&c->timer, on_timer_closed);
    if (c->tcp != NULL)
        dial_close(c->tcp);
    c->tcp = NULL;
}
