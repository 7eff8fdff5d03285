/* SPDX-License-Identifier: Apache-2.0 */
#include "io/conn.h"

#include <errno.h>
#include <netdb.h>
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
#include "io/loop.h"
#include "proto/tls.h"

/* So many addresses of a host are tried; further ones are left out. */
enum { ADDRS_MAX = 16 };

/* The events of a connection without an owner. */
static const struct conn_events nobody;

struct conn {
    struct loop *loop;
    enum conn_state state;
    const struct conn_events *events;
    void *arg;
    unsigned held; /* how many of timer, tcp and lookup libuv still knows */
    bool told;     /* on_closed was called */

    char *host;
    char *name; /* HOST:PORT */
    uint16_t port;
    struct tls_ctx *ctx;
    struct tls *tls; /* NULL = plain */
    uint64_t connect_timeout_ms;
    uint64_t tls_timeout_ms;
    uint64_t peer;
    uint64_t resume_peer;
    bool is_identified;
    void (*on_session)(void *arg, struct conn *c, struct tls_session *session);
    void *session_arg;

    struct sockaddr_storage addrs[ADDRS_MAX]; /* of host, in the order in which they are tried */
    size_t addr_count;
    size_t tried;            /* so many of them, from the first on */
    uint64_t connect_due_ms; /* end of CONNECTING for all addresses */
    struct err failure;      /* CONNECTING: the best reason so far; CLOSED: for on_closed */

    uv_timer_t timer; /* deadline of the state; open until dispose */
    uv_tcp_t tcp;     /* initialised anew for each address that is tried */
    bool tcp_open;    /* between uv_tcp_init() and uv_close() */
    uv_connect_t connecting;
    uv_getaddrinfo_t lookup;
    size_t burst;             /* bytes read in a row without finding the socket empty */
    struct loop_task read_on; /* reading goes on after a burst */
    struct loop_task shake;   /* the next handshake step */
    struct loop_task tell_end;
};

/* libuv has let go of one handle or request of the connection; the last one frees the memory. */
static void let_go(struct conn *c)
{
    ensure(c->held > 0);
    if (--c->held > 0)
        return;
    tls_destroy(&c->tls);
    tls_ctx_unref(&c->ctx);
    free(c->host);
    free(c->name);
    free(c);
}

static void on_timer(uv_timer_t *timer);

/* CONNECTING has a timer per address (try_next()), OPEN has none: see conn.h. */
static void enter(struct conn *c, enum conn_state state)
{
    static const char *const names[] = {"resolving", "connecting", "handshaking", "open", "closed"};

    c->state = state;
    uv_timer_stop(&c->timer);
    if (state == CONN_RESOLVING)
        uv_timer_start(&c->timer, on_timer, c->connect_timeout_ms, 0);
    else if (state == CONN_HANDSHAKING)
        uv_timer_start(&c->timer, on_timer, c->tls_timeout_ms, 0);
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

/* Appends to an error what was tried: while CONNECTING " (tried A, B)" and every address so far,
 * later " (B)", the one that is connected. The error names the host already, so an IP literal would
 * stand there twice. */
static void put_tried(const struct conn *c, struct buf *out)
{
    bool all = c->state == CONN_CONNECTING;
    size_t from = all || c->tried == 0 ? 0 : c->tried - 1;
    struct buf list = {0};

    for (size_t i = from; i < c->tried; i++) {
        char text[INET6_ADDRSTRLEN] = "?";

        uv_ip_name((const struct sockaddr *)&c->addrs[i], text, sizeof(text));
        buf_printf(&list, "%s%s", i > from ? ", " : "", text);
    }
    if (list.len > 0 && !str_is(buf_str(&list), c->host))
        buf_printf(out, " (%s%s)", all ? "tried " : "", buf_cstr(&list));
    buf_free(&list);
}

/* Every failure, in whatever state, and every end by the peer goes through here. on_closed follows
 * in the next turn, because callers of conn_write() and conn_create() must not be called back. The
 * socket stays open until conn_dispose(). */
static void end(struct conn *c, enum err_kind kind, int code, const char *why)
{
    static const char *const doing[] = {"name lookup: ", "connect: ", "TLS handshake: ", "", ""};
    struct buf addresses = {0};

    if (c->state == CONN_CLOSED)
        return;
    put_tried(c, &addresses);
    err_set(&c->failure, kind, code, "%s: %s%s%s", c->name, kind == ERR_TLS ? "" : doing[c->state],
            why, buf_cstr(&addresses));
    buf_free(&addresses);
    enter(c, CONN_CLOSED);
    if (c->tcp_open)
        uv_read_stop((uv_stream_t *)&c->tcp);
    loop_cancel(&c->read_on);
    loop_cancel(&c->shake);
    loop_defer_slow(c->loop, &c->tell_end);
}

/* A write and its bytes, which libuv needs until on_written(). */
struct outgoing {
    uv_write_t req;
    char data[];
};

/* A write that failed later is not reported: the read side finds the broken connection, after it
 * has read the last bytes that the peer sent, for instance an error response. */
static void on_written(uv_write_t *req, int status)
{
    (void)status;
    free(container_of(req, struct outgoing, req));
}

static void send_bytes(struct conn *c, const char *data, size_t n)
{
    struct outgoing *o = mem_alloc(sizeof(*o) + n);
    uv_buf_t bytes = uv_buf_init(o->data, (unsigned)n);

    memcpy(o->data, data, n);
    int e = uv_write(&o->req, (uv_stream_t *)&c->tcp, &bytes, 1, on_written);

    if (e == 0)
        return;
    free(o);
    end(c, ERR_IO, e, uv_strerror(e));
}

/* The TLS engine has no socket: each call of it may leave bytes to send. */
static void flush_tls(struct conn *c)
{
    struct str out = tls_out(c->tls);

    if (out.n == 0)
        return;
    send_bytes(c, out.p, out.n);
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

static void end_tls(struct conn *c, enum tls_result result, const struct err *err)
{
    if (result == TLS_CLOSED)
        end(c, ERR_CLOSED, 0, "the server closed the connection");
    else
        end(c, err->kind, err->code, err->text);
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
    struct conn *c = container_of((uv_tcp_t *)tcp, struct conn, tcp);

    (void)suggested;
    *buf = uv_buf_init(loop_recv_buffer(c->loop), LOOP_RECV_BYTES);
}

/* UV_ETIMEDOUT on an open connection comes from keepalive or TCP_USER_TIMEOUT (tune()). */
static void end_of_stream(struct conn *c, int status)
{
    if (status == UV_EOF)
        end(c, ERR_CLOSED, 0, "the server closed the connection");
    else if (status == UV_ETIMEDOUT)
        end(c, ERR_TIMEOUT, status, "the server does not answer any more (TCP keepalive)");
    else
        end(c, ERR_IO, status, uv_strerror(status));
}

static void on_read(uv_stream_t *tcp, ssize_t n, const uv_buf_t *buf)
{
    struct conn *c = container_of((uv_tcp_t *)tcp, struct conn, tcp);

    if (n < 0) {
        end_of_stream(c, (int)n);
        return;
    }
    /* A read that did not fill the buffer has emptied the socket: libuv turns to others by
     * itself. */
    c->burst = (size_t)n < buf->len ? 0 : c->burst + (size_t)n;
    if (n == 0)
        return;
    if (c->tls != NULL)
        tls_feed(c->tls, buf->base, (size_t)n);
    if (c->state == CONN_HANDSHAKING) {
        /* A handshake step costs up to milliseconds, so it waits for its turn (loop_defer_slow()).
         * Nothing more is read before: the engine's input must stay bounded (proto/tls.h). */
        uv_read_stop(tcp);
        loop_defer_slow(c->loop, &c->shake);
    } else if (c->tls != NULL) {
        decrypt(c);
    } else if (c->events->on_data != NULL) {
        c->events->on_data(c->arg, buf->base, (size_t)n);
    }
    if (c->burst < CONN_BURST_BYTES || c->state != CONN_OPEN)
        return;
    /* libuv would go on reading from a full socket: other connections come first. */
    c->burst = 0;
    uv_read_stop(tcp);
    loop_defer(c->loop, &c->read_on);
}

static void start_reading(struct conn *c)
{
    int e = uv_read_start((uv_stream_t *)&c->tcp, on_alloc, on_read);

    if (e != 0)
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
    if (c->tls != NULL)
        hand_out_session(c);
    if (c->events->on_open != NULL)
        c->events->on_open(c->arg);
    if (c->state == CONN_OPEN && c->tls != NULL)
        decrypt(c); /* bytes that came together with the end of the handshake */
    if (c->state == CONN_OPEN)
        start_reading(c);
}

static void on_shake(struct loop_task *task)
{
    struct conn *c = container_of(task, struct conn, shake);
    struct err err = {0};
    enum tls_result result = tls_handshake(c->tls, &err);

    flush_tls(c);
    if (c->state != CONN_HANDSHAKING) /* sending failed */
        return;
    if (result == TLS_OK)
        opened(c);
    else if (result == TLS_WANT)
        start_reading(c);
    else
        end_tls(c, result, &err);
}

static void try_next(struct conn *c);

/* c->tcp can be used for the next address only when libuv has closed it. */
static void on_tcp_closed(uv_handle_t *tcp)
{
    struct conn *c = container_of((uv_tcp_t *)tcp, struct conn, tcp);

    if (c->state == CONN_CONNECTING)
        try_next(c);
    let_go(c);
}

static void close_tcp(struct conn *c)
{
    c->tcp_open = false;
    uv_close((uv_handle_t *)&c->tcp, on_tcp_closed);
}

/* Connecting to one address failed; on_tcp_closed() tries the next address. If all fail, a refused
 * connection is reported rather than any other failure: it shows that a host is there. */
static void attempt_failed(struct conn *c, enum err_kind kind, int code, const char *why)
{
    uv_timer_stop(&c->timer);
    if (c->failure.kind == ERR_OK || kind == ERR_REFUSED)
        err_set(&c->failure, kind, code, "%s", why);
    close_tcp(c);
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

static void on_connected(uv_connect_t *req, int status)
{
    struct conn *c = container_of(req, struct conn, connecting);

    if (status == UV_ECANCELED || c->state != CONN_CONNECTING)
        return; /* close_tcp() ended the attempt, and its caller knows why */
    if (status != 0) {
        attempt_failed(c, status == UV_ECONNREFUSED ? ERR_REFUSED : ERR_IO, status,
                       uv_strerror(status));
        return;
    }
    /* A connection without these options works; only its death is found later. */
    int e = tune(&c->tcp);

    if (e != 0)
        log_warn("socket options were refused", KV_STR("to", c->name),
                 KV_STR("reason", uv_strerror(e)));
    if (c->tls == NULL) {
        opened(c);
        return;
    }
    /* The first step makes the ClientHello, without any bytes from the server. */
    enter(c, CONN_HANDSHAKING);
    loop_defer_slow(c->loop, &c->shake);
}

/* Connects to the next address. The time that is left is shared evenly among the addresses that are
 * left, so that one that never answers cannot use up the time of the others. */
static void try_next(struct conn *c)
{
    uint64_t now_ms = loop_now_ms(c->loop);
    uint64_t left_ms = c->connect_due_ms > now_ms ? c->connect_due_ms - now_ms : 1;

    if (c->tried == c->addr_count) {
        struct err last = c->failure; /* end() writes to c->failure */

        end(c, last.kind, last.code, last.text);
        return;
    }
    uv_tcp_init(loop_uv(c->loop), &c->tcp);
    c->tcp_open = true;
    c->held++;
    uv_timer_start(&c->timer, on_timer, left_ms / (c->addr_count - c->tried), 0);
    int e = uv_tcp_connect(&c->connecting, &c->tcp, (const struct sockaddr *)&c->addrs[c->tried++],
                           on_connected);

    if (e != 0)
        attempt_failed(c, ERR_IO, e, uv_strerror(e));
}

static void start_connecting(struct conn *c)
{
    if (c->addr_count == 0) {
        end(c, ERR_IO, UV_EAI_NODATA, "the name has no address");
        return;
    }
    enter(c, CONN_CONNECTING);
    c->connect_due_ms = loop_now_ms(c->loop) + c->connect_timeout_ms;
    try_next(c);
}

/* Adds the address of an IP literal, without brackets; an IPv6 zone (fe80::1%eth0) is fine. False:
 * host is a name. */
static bool add_literal(struct conn *c, const char *host)
{
    struct sockaddr_storage *to = &c->addrs[c->addr_count];

    if (c->addr_count == ADDRS_MAX || (uv_ip4_addr(host, c->port, (struct sockaddr_in *)to) != 0 &&
                                       uv_ip6_addr(host, c->port, (struct sockaddr_in6 *)to) != 0))
        return false;
    c->addr_count++;
    return true;
}

/* Adds the IPv4 and IPv6 addresses that the lookup found, in its order. The lookup is made without
 * a service, so they have port 0. */
static void add_found(struct conn *c, const struct addrinfo *found)
{
    for (const struct addrinfo *i = found; i != NULL && c->addr_count < ADDRS_MAX; i = i->ai_next) {
        struct sockaddr_storage *to = &c->addrs[c->addr_count];

        if (i->ai_addrlen > sizeof(*to) || (i->ai_family != AF_INET && i->ai_family != AF_INET6))
            continue;
        memcpy(to, i->ai_addr, i->ai_addrlen);
        if (i->ai_family == AF_INET)
            ((struct sockaddr_in *)to)->sin_port = htons(c->port);
        else
            ((struct sockaddr_in6 *)to)->sin6_port = htons(c->port);
        c->addr_count++;
    }
}

/* A lookup cannot be stopped once a thread works on it, so it may end after the deadline, or after
 * conn_dispose(): then the state is another one, and the answer is only freed. */
static void on_resolved(uv_getaddrinfo_t *req, int status, struct addrinfo *found)
{
    struct conn *c = container_of(req, struct conn, lookup);

    if (c->state == CONN_RESOLVING && status != 0) {
        end(c, ERR_IO, status, uv_strerror(status));
    } else if (c->state == CONN_RESOLVING) {
        add_found(c, found);
        start_connecting(c);
    }
    uv_freeaddrinfo(found);
    let_go(c);
}

static void start_lookup(struct conn *c)
{
    const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    int e = uv_getaddrinfo(loop_uv(c->loop), &c->lookup, on_resolved, c->host, NULL, &hints);

    if (e == 0)
        c->held++;
    else
        end(c, ERR_IO, e, uv_strerror(e));
}

/* The deadline of the state is over. One silent address is not the end while CONNECTING. */
static void on_timer(uv_timer_t *timer)
{
    struct conn *c = container_of(timer, struct conn, timer);
    char why[64];

    (void)snprintf(why, sizeof(why), "no answer within %llu ms",
                   (unsigned long long)(c->state == CONN_HANDSHAKING ? c->tls_timeout_ms
                                                                     : c->connect_timeout_ms));
    if (c->state == CONN_CONNECTING)
        attempt_failed(c, ERR_TIMEOUT, UV_ETIMEDOUT, why);
    else
        end(c, ERR_TIMEOUT, UV_ETIMEDOUT, why);
}

struct conn *conn_create(struct loop *loop, const struct conn_params *params,
                         const struct conn_events *events, void *arg)
{
    /* Only IPv6 literals have colons. */
    bool v6 = strchr(params->host, ':') != NULL;
    struct conn *c = MEM_NEW(
        struct conn, .loop = loop, .port = params->port, .host = mem_strdup(params->host),
        .name = mem_printf(v6 ? "[%s]:%u" : "%s:%u", params->host, (unsigned)params->port),
        .connect_timeout_ms = params->connect_timeout_ms, .tls_timeout_ms = params->tls_timeout_ms,
        .on_session = params->on_session, .session_arg = params->session_arg, .peer = params->peer,
        .resume_peer = params->resume_peer);

    if (params->tls != NULL) {
        c->ctx = tls_ctx_ref(params->tls);
        c->tls = tls_create(c->ctx, params->server_name != NULL ? params->server_name : c->host,
                            params->resume);
    }
    loop_task_init(&c->read_on, on_read_on);
    loop_task_init(&c->shake, on_shake);
    loop_task_init(&c->tell_end, on_tell_end);
    uv_timer_init(loop_uv(loop), &c->timer);
    c->held = 1;
    conn_set_events(c, events, arg);
    enter(c, CONN_RESOLVING);
    for (const char *const *to = params->addresses; to != NULL && *to != NULL; to++)
        (void)add_literal(c, *to);
    if (params->addresses != NULL || add_literal(c, c->host))
        start_connecting(c);
    else
        start_lookup(c);
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
        send_bytes(c, data, n);
        return;
    }
    enum tls_result result = tls_write(c->tls, data, n, &err);

    flush_tls(c);
    if (result != TLS_OK)
        end_tls(c, result, &err);
}

enum conn_state conn_state(const struct conn *c)
{
    return c->state;
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

static void on_timer_closed(uv_handle_t *timer)
{
    let_go(container_of((uv_timer_t *)timer, struct conn, timer));
}

void conn_dispose(struct conn **cp)
{
    struct conn *c = *cp;

    if (c == NULL)
        return;
    *cp = NULL;
    c->events = &nobody;
    c->on_session = NULL;
    if (c->state == CONN_RESOLVING) /* works only for a lookup that no thread has begun */
        uv_cancel((uv_req_t *)&c->lookup);
    if (c->state == CONN_OPEN && c->tls != NULL) { /* close_notify */
        tls_close(c->tls);
        flush_tls(c);
    }
    enter(c, CONN_CLOSED);
    loop_cancel(&c->read_on);
    loop_cancel(&c->shake);
    loop_cancel(&c->tell_end);
    uv_close((uv_handle_t *)&c->timer, on_timer_closed);
    if (c->tcp_open)
        close_tcp(c);
}
