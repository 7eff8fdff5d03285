/* SPDX-License-Identifier: Apache-2.0 */
#include "io/listener.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <uv.h>

#include "admin/admin.h"
#include "admin/stream.h"
#include "base/list.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/panic.h"
#include "base/socket_address.h"
#include "io/loop.h"
#include "proto/http_in.h"
#include "proto/http_out.h"

/* The default of listener_params.idle_ms. */
#define IDLE_MS 30000

/* Connections that may wait to be accepted; later clients wait in connect(), or get EAGAIN. */
enum { BACKLOG = 128 };

/* The most bytes of a stream that are being written to its reader, unless one line is longer. The
 * next piece is pulled when this one is written, so a reader gets changes as fast as it reads. */
enum { PIECE_BYTES = 65536 };

/* libuv 1.44 accepts in a loop while clients wait in connect(), later versions accept one in each turn
 * of the loop. Further clients wait for the next turn, so that a flood of them does not hold up
 * everything else. */
enum { ACCEPTS_PER_TURN = 32 };

/* The most clients that may wait for a place, accepted and not read; beyond, the newest one is
 * refused. */
enum { WAITING_MOST = 128 };

/* No request that informerctl makes comes near: bodies mean nothing, and paths are short. */
static const struct http_limits limits = {.head_bytes = 16384, .body_bytes = 65536};

/* A socket of either kind, as a handle of libuv. */
union endpoint {
    uv_handle_t handle;
    uv_stream_t stream;
    uv_pipe_t pipe;
    uv_tcp_t tcp;
};

struct listener {
    union endpoint server;
    char *path; /* NULL = TCP */
    dev_t dev;  /* identity of our socket file: another informerd may replace it */
    ino_t ino;
    struct loop *loop;
    struct listener_params params; /* path is not valid: the copy is above */
    /* All clients. Those without a request stand in the order in which they began to wait for
     * one. */
    struct list clients;
    size_t served;          /* clients with a place */
    size_t waiting;         /* clients that wait for a place */
    size_t queued;          /* bytes of answers that are being written */
    size_t streams;         /* open streams */
    struct loop_task admit; /* gives places to clients that wait */
    unsigned accepts;      /* connections in this turn; the last one is left if they are too many */
    struct loop_task turn; /* begins the count of accepts anew */
};

enum client_state {
    CLIENT_CLOSED,
    CLIENT_WAITING,   /* waits for a place; nothing is read from it */
    CLIENT_READING,   /* its next request has not come, or not completely */
    CLIENT_ANSWERING, /* an answer, or the last piece of a stream, is being written */
    CLIENT_STREAMING, /* a piece of a stream is being written, the next one follows */
    CLIENT_QUIET,     /* the stream has nothing to give now */
};

/* Its requests, their answers, and answers without an end. */
struct client {
    struct listener *listener;
    struct list link;
    enum client_state state;
    unsigned held; /* handles that libuv still knows: socket, timer */
    bool privileged;
    union endpoint socket;
    uv_timer_t timer;
    uv_write_t write;
    struct http_in *in; /* the request that is being read or answered */
    struct buf method;
    struct buf target;
    struct buf host;
    struct buf rest; /* ANSWERING: bytes that came behind that request */
    struct buf head; /* of the answer, while it is written */
    struct buf body;
    bool keep;                   /* ANSWERING: the connection may carry another request */
    size_t unsent;               /* bytes not yet written at the last look of the timer */
    struct admin_stream *stream; /* STREAMING, QUIET */
    struct loop_task task;       /* QUIET: pulls from the stream, in a turn of its own */
    bool half_closed;            /* STREAMING, QUIET: the peer has shut down its sending side */
};

static bool is_tcp(const struct listener *l)
{
    return l->path == NULL;
}

static void init_endpoint(const struct listener *l, union endpoint *e)
{
    if (is_tcp(l))
        uv_tcp_init(loop_uv(l->loop), &e->tcp);
    else
        uv_pipe_init(loop_uv(l->loop), &e->pipe, 0);
}

/* ---- The socket file */

/* An error with the path, by errno. Errors that the user can mend by the configuration, or by how
 * informerd is started, are ERR_CONFIG and say how. */
static enum err_kind path_error(struct err *err, const char *path)
{
    const char *remedy = "";

    if (errno == ENOENT)
        remedy =
            " (make its folder; systemd does that with RuntimeDirectory=, or set control.socket)";
    else if (errno == EACCES || errno == EROFS || errno == EPERM)
        remedy = " (start as root, or set control.socket to a folder that you may write)";
    return err_set(err, remedy[0] != '\0' ? ERR_CONFIG : ERR_IO, errno, "control socket %s: %s%s",
                   path, strerrordesc_np(errno), remedy);
}

static int new_socket(int family)
{
    return socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

/* Removes the socket that a dead process left; ERR_OK if there is none. A connect tells them apart:
 * ECONNREFUSED means that no process listens on it any more. EAGAIN means that one does, and is
 * busy. */
static enum err_kind remove_stale(const struct sockaddr_un *at, struct err *err)
{
    struct stat st;

    if (lstat(at->sun_path, &st) != 0)
        return errno == ENOENT ? ERR_OK : path_error(err, at->sun_path);
    if (!S_ISSOCK(st.st_mode))
        return err_set(err, ERR_CONFIG, 0,
                       "control socket %s: something else has this name; remove it, or set "
                       "control.socket",
                       at->sun_path);
    int fd = new_socket(AF_UNIX);
    if (fd < 0)
        return err_set(err, ERR_IO, errno, "socket: %s", strerrordesc_np(errno));
    int failure = connect(fd, (const struct sockaddr *)at, sizeof(*at)) == 0 ? 0 : errno;
    close(fd);
    if (failure == 0 || failure == EAGAIN)
        return err_set(err, ERR_IO, EADDRINUSE,
                       "control socket %s: another informerd is running there; stop it, or set "
                       "control.socket",
                       at->sun_path);
    errno = failure;
    if (failure != ECONNREFUSED || unlink(at->sun_path) != 0)
        return path_error(err, at->sun_path);
    log_info("removed the control socket of an informerd that is gone",
             KV_STR("path", at->sun_path));
    return ERR_OK;
}

/* Makes the socket file. The umask gives it its final mode from its first moment: with a later
 * chmod others could connect in between. lchown() follows no link that others may have put in its
 * place. */
static enum err_kind bind_and_listen(int fd, const struct sockaddr_un *at, gid_t group,
                                     struct err *err)
{
    /* mode 0660 */
    mode_t mask = umask(0117);
    int bound = bind(fd, (const struct sockaddr *)at, sizeof(*at));
    int failure = errno;

    umask(mask);
    errno = failure;
    if (bound != 0)
        return path_error(err, at->sun_path);
    if ((group == (gid_t)-1 || lchown(at->sun_path, (uid_t)-1, group) == 0) &&
        listen(fd, BACKLOG) == 0)
        return ERR_OK;
    enum err_kind kind = path_error(err, at->sun_path);
    /* A socket that no process listens on must not stay. */
    unlink(at->sun_path);
    return kind;
}

enum err_kind listener_bind(const char *path, gid_t group, int *fd, struct err *err)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};

    if (strlen(path) >= sizeof(at.sun_path))
        return err_set(err, ERR_CONFIG, ENAMETOOLONG,
                       "control socket %s: longer than %zu bytes, the limit of unix sockets", path,
                       sizeof(at.sun_path) - 1);
    memcpy(at.sun_path, path, strlen(path) + 1);
    enum err_kind kind = remove_stale(&at, err);
    if (kind != ERR_OK)
        return kind;
    int made = new_socket(AF_UNIX);
    if (made < 0)
        return err_set(err, ERR_IO, errno, "socket: %s", strerrordesc_np(errno));
    kind = bind_and_listen(made, &at, group, err);
    if (kind != ERR_OK)
        close(made);
    else
        *fd = made;
    return kind;
}

/* ---- TCP */

/* The address is in use, or this machine does not have it yet: another try may help. */
static enum err_kind address_error(struct err *err, const char *address)
{
    bool is_for_root = errno == EACCES || errno == EPERM;

    return err_set(err, is_for_root ? ERR_CONFIG : ERR_IO, errno, "metrics.listen: %s: %s%s",
                   address, strerrordesc_np(errno),
                   is_for_root           ? " (only root may use a port below 1024)"
                   : errno == EADDRINUSE ? " (use another port)"
                                         : "");
}

/* IPv6 sockets are for IPv6 only, so that [::]:1 and 0.0.0.0:1 can both be used. */
enum err_kind listener_bind_tcp(const char *address, int *fd, struct err *err)
{
    struct socket_address at;
    const int on = 1;

    if (!socket_address_read(address, &at))
        return err_set(err, ERR_CONFIG, EINVAL, "metrics.listen: %s is no address", address);
    int made = new_socket(at.to.any.sa_family);
    if (made < 0)
        return address_error(err, address);
    if (setsockopt(made, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0 &&
        (at.to.any.sa_family == AF_INET ||
         setsockopt(made, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on)) == 0) &&
        bind(made, &at.to.any, at.size) == 0 && listen(made, BACKLOG) == 0) {
        *fd = made;
        return ERR_OK;
    }
    enum err_kind kind = address_error(err, address);
    close(made);
    return kind;
}

/* ---- The end of a client */

/* One handle is closed; the last one frees the client. */
static void let_go(struct client *c)
{
    ensure(c->held > 0);
    if (--c->held > 0)
        return;
    http_in_destroy(&c->in);
    buf_free(&c->method);
    buf_free(&c->target);
    buf_free(&c->host);
    buf_free(&c->rest);
    buf_free(&c->head);
    buf_free(&c->body);
    free(c);
}

static void on_socket_closed(uv_handle_t *h)
{
    let_go(container_of(h, struct client, socket));
}

static void on_timer_closed(uv_handle_t *h)
{
    let_go(container_of(h, struct client, timer));
}

static void on_timer(uv_timer_t *timer);

/* Changes the state, and with it the counts of the listener and the timer. Each state but CLOSED has a
 * deadline, except for QUIET: a stream without changes may be quiet for ever. But if the peer has
 * shut down its sending side, its end can no longer be read, so the timer looks for it. */
static void enter(struct client *c, enum client_state state)
{
    struct listener *l = c->listener;

    l->waiting += (state == CLIENT_WAITING) - (c->state == CLIENT_WAITING);
    l->served += (state > CLIENT_WAITING) - (c->state > CLIENT_WAITING);
    c->state = state;
    if (state == CLIENT_READING) { /* joins the end of those without a request */
        list_remove(&c->link);
        list_append(&l->clients, &c->link);
    }
    /* A place is free now, or there is a client that may give its place up. */
    if (l->waiting > 0 && (state == CLIENT_READING || state == CLIENT_CLOSED))
        loop_defer(l->loop, &l->admit);
    if (state == CLIENT_CLOSED || (state == CLIENT_QUIET && !c->half_closed))
        uv_timer_stop(&c->timer);
    else
        uv_timer_start(&c->timer, on_timer, c->listener->params.idle_ms, 0);
}

static void end_stream(struct client *c)
{
    if (c->stream == NULL)
        return;
    c->listener->streams--;
    loop_cancel(&c->task);
    admin_stream_destroy(&c->stream);
}

/* Closes the client from any state. The memory of the answer stays until libuv has let go of the
 * socket, as a write may be under way. */
static void close_client(struct client *c)
{
    struct listener *l = c->listener;

    if (c->state == CLIENT_CLOSED)
        return;
    end_stream(c);
    l->queued -= c->head.len + c->body.len;
    enter(c, CLIENT_CLOSED);
    list_remove(&c->link);
    uv_close(&c->socket.handle, on_socket_closed);
    uv_close((uv_handle_t *)&c->timer, on_timer_closed);
}

/* Whether both directions of the connection are closed. POLLHUP comes without being asked for, so
 * no events are named. */
static bool hung_up(const struct client *c)
{
    struct pollfd p = {0};

    return uv_fileno(&c->socket.handle, &p.fd) != 0 ||
           (poll(&p, 1, 0) > 0 && (p.revents & (POLLHUP | POLLERR)) != 0);
}

/* Whether the peer has read some of the answer since the last look. A client in READING has nothing
 * to read: its time for a whole request is over. */
static bool makes_progress(struct client *c)
{
    size_t before = c->unsent;

    c->unsent = uv_stream_get_write_queue_size(&c->socket.stream);
    return c->unsent < before;
}

static void refuse(struct client *c);

static void on_timer(uv_timer_t *timer)
{
    struct client *c = container_of(timer, struct client, timer);
    /* The deadline begins anew if the peer has read some of its answer, or, during a quiet stream,
     * is still there. */
    bool alive = c->state == CLIENT_QUIET ? !hung_up(c) : makes_progress(c);

    if (c->state == CLIENT_WAITING) {
        refuse(c);
        return;
    }
    if (alive) {
        enter(c, c->state);
        return;
    }
    if (c->state == CLIENT_STREAMING)
        log_warn("stream cut off: its reader took nothing for too long",
                 KV_STR("stream", admin_stream_name(c->stream)), KV_U64("unsent", c->unsent));
    else
        log_debug("client dropped: it was silent for too long", KV_U64("unsent", c->unsent));
    close_client(c);
}

/* ---- Reading */

static void take(struct client *c, struct str data);

static void on_alloc(uv_handle_t *h, size_t suggested, uv_buf_t *buf)
{
    struct client *c = container_of(h, struct client, socket);

    (void)suggested;
    *buf = uv_buf_init(loop_recv_buffer(c->listener->loop), LOOP_RECV_BYTES);
}

/* The peer has shut down its sending side, or is gone. A peer that has sent its request may still
 * read a stream. Without a request there is nothing to answer. */
static void on_read_end(struct client *c, ssize_t why)
{
    if (c->state == CLIENT_READING || why != UV_EOF || hung_up(c)) {
        close_client(c);
        return;
    }
    c->half_closed = true;
    if (c->state == CLIENT_QUIET)
        enter(c, CLIENT_QUIET);
}

/* Reading goes on during a stream only to notice the end of the peer: bytes that come then are
 * ignored. */
static void on_read(uv_stream_t *stream, ssize_t nread, const uv_buf_t *buf)
{
    struct client *c = container_of(stream, struct client, socket);

    if (nread < 0)
        on_read_end(c, nread);
    else if (nread > 0 && c->state == CLIENT_READING)
        take(c, str_of(buf->base, (size_t)nread));
}

/* Reads the next request of the connection, of which bytes may have come with the one before. Also
 * the first one, when a waiting client gets a place. */
static void read_next(struct client *c)
{
    struct buf rest = c->rest;

    c->rest = (struct buf){0};
    http_in_destroy(&c->in);
    c->in = http_in_create(HTTP_IN_REQUEST, &limits);
    buf_clear(&c->method);
    buf_clear(&c->target);
    buf_clear(&c->host);
    enter(c, CLIENT_READING);
    if (rest.len > 0)
        take(c, buf_str(&rest));
    buf_free(&rest);
    /* take() may have answered already, or closed the client */
    if (c->state == CLIENT_READING && uv_read_start(&c->socket.stream, on_alloc, on_read) != 0)
        close_client(c);
}

/* ---- Answering */

static void pull(struct client *c);

/* Head and body are written, or could not be. */
static void on_written(uv_write_t *req, int status)
{
    struct client *c = container_of(req, struct client, write);

    if (c->state == CLIENT_CLOSED)
        return;
    c->listener->queued -= c->head.len + c->body.len;
    buf_free(&c->head);
    /* A stream uses the memory of its body again for the next piece. */
    buf_clear(&c->body);
    if (status < 0 || (c->state == CLIENT_ANSWERING && !c->keep)) {
        close_client(c);
    } else if (c->state == CLIENT_STREAMING) {
        pull(c);
    } else {
        buf_free(&c->body);
        read_next(c);
    }
}

/* Writes head and body, one of which may be empty; `state` is the state while that lasts. */
static void send_out(struct client *c, enum client_state state)
{
    uv_buf_t parts[2];
    unsigned n = 0;

    if (c->head.len > 0)
        parts[n++] = uv_buf_init(c->head.data, (unsigned)c->head.len);
    if (c->body.len > 0) {
        /* uv_buf_init() takes an unsigned length */
        parts[n] = uv_buf_init(c->body.data, 0);
        parts[n++].len = c->body.len;
    }
    /* Counted until on_written() or close_client(): ask() compares it with the limit. */
    c->listener->queued += c->head.len + c->body.len;
    if (uv_write(&c->write, &c->socket.stream, parts, n, on_written) != 0) {
        close_client(c);
        return;
    }
    c->unsent = uv_stream_get_write_queue_size(&c->socket.stream);
    /* a large answer takes long to make, and the deadline is to begin now */
    loop_update_now(c->listener->loop);
    enter(c, state);
}

/* Writes the answer; takes the body of the response over. */
static void send_answer(struct client *c, struct admin_response *r)
{
    http_out_response(&c->head, r->status, r->content_type, r->headers, r->body.len);
    /* An answer to HEAD has no body, whatever its status. */
    if (str_is(buf_str(&c->method), "HEAD"))
        buf_clear(&r->body);
    c->body = r->body;
    r->body = (struct buf){0};
    send_out(c, CLIENT_ANSWERING);
}

/* ---- Streams */

/* The stream is over: writes the rest of it, its last line included, and closes the connection, which is
 * the end of an answer without Content-Length. */
static void finish_stream(struct client *c)
{
    if (admin_stream_complaint(c->stream) != NULL)
        log_warn("stream cut off", KV_STR("stream", admin_stream_name(c->stream)),
                 KV_STR("because", admin_stream_complaint(c->stream)));
    end_stream(c);
    uv_read_stop(&c->socket.stream);
    c->keep = false;
    if (c->head.len + c->body.len > 0)
        send_out(c, CLIENT_ANSWERING);
    else
        close_client(c);
}

/* Pulls the next piece and writes it. No write may be under way. */
static void pull(struct client *c)
{
    enum admin_stream_pulled pulled = admin_stream_pull(c->stream, &c->body, PIECE_BYTES);

    if (pulled == ADMIN_STREAM_ENDED) {
        finish_stream(c);
    } else if (c->head.len + c->body.len > 0) {
        send_out(c, CLIENT_STREAMING);
    } else {
        buf_free(&c->body);
        enter(c, CLIENT_QUIET);
    }
}

static void on_task(struct loop_task *task)
{
    pull(container_of(task, struct client, task));
}

/* A client that is writing pulls again by itself when that is done. */
static void on_ready(void *arg)
{
    struct client *c = arg;

    if (c->state == CLIENT_QUIET)
        loop_defer(c->listener->loop, &c->task);
}

/* Begins a stream; takes the stream of the response over. */
static void start_stream(struct client *c, struct admin_response *r)
{
    http_out_endless(&c->head, r->status, r->content_type);
    c->stream = r->stream;
    r->stream = NULL;
    c->listener->streams++;
    if (str_is(buf_str(&c->method), "HEAD")) {
        finish_stream(c);
        return;
    }
    admin_stream_on_ready(c->stream, on_ready, c);
    pull(c);
    if (c->state != CLIENT_CLOSED && uv_read_start(&c->socket.stream, on_alloc, on_read) != 0)
        close_client(c);
}

/* ---- Requests */

/* The part of a limit that the client may use: all of it if privileged, else three quarters. So
 * clients without rights cannot lock out privileged ones. */
static size_t share(const struct client *c, size_t most)
{
    return c->privileged || is_tcp(c->listener) ? most : most - most / 4;
}

/* Gets the answer to the request, or refuses it when too much of something is in use. The handler
 * may close all clients, this one included. */
static void ask(struct client *c, struct admin_response *r)
{
    struct listener *l = c->listener;
    const struct admin_request req = {
        .method = buf_str(&c->method),
        .target = buf_str(&c->target),
        .host = buf_str(&c->host),
        .privileged = c->privileged,
        .anonymous = is_tcp(l),
    };

    /* Before the request is handled: an answer is large before its size is known. */
    if (l->queued > share(c, l->params.queued_bytes)) {
        admin_refuse(r, 503, "too many answers wait for their readers: try again");
        return;
    }
    l->params.handle(l->params.arg, &req, r);
    /* Only the answer says whether it is a stream. An order, such as a reload, is under way by now and
     * must not be refused: LISTENER_CLIENTS bounds the answers that wait. */
    if (c->state == CLIENT_CLOSED || r->stream == NULL || str_is(req.method, "POST") ||
        l->streams < share(c, LISTENER_STREAMS))
        return;
    admin_stream_destroy(&r->stream);
    buf_free(&r->body);
    admin_refuse(r, 503, "too many streams are open: end one of them");
}

/* A client that was closed inside the handler gets nothing: the memory of the response is freed. */
static void answer(struct client *c)
{
    struct admin_response r = {0};

    ask(c, &r);
    if (c->state == CLIENT_ANSWERING && r.stream != NULL)
        start_stream(c, &r);
    else if (c->state == CLIENT_ANSWERING)
        send_answer(c, &r);
    admin_stream_destroy(&r.stream);
    buf_free(&r.body);
}

/* The body of a request says nothing. */
static enum http_in_part read_request(struct client *c, struct str *data, struct err *err)
{
    enum http_in_part part;
    struct str body;

    do {
        part = http_in_read(c->in, data, &body, err);
        if (part == HTTP_IN_HEAD) {
            buf_append_str(&c->method, http_in_head(c->in)->method);
            buf_append_str(&c->target, http_in_head(c->in)->target);
            buf_append_str(&c->host, http_in_head(c->in)->host);
        }
    } while (part == HTTP_IN_HEAD || part == HTTP_IN_BODY);
    return part;
}

/* Takes bytes of the peer in state READING, and answers when the request is complete. Reading stops
 * meanwhile: later bytes wait in the socket, and bytes behind the request wait in rest. */
static void take(struct client *c, struct str data)
{
    struct admin_response bad_request;
    struct err err = {0};
    enum http_in_part part = read_request(c, &data, &err);

    if (part == HTTP_IN_MORE)
        return;
    uv_read_stop(&c->socket.stream);
    enter(c, CLIENT_ANSWERING);
    if (part == HTTP_IN_FAILED) {
        admin_refuse(&bad_request, 400, err.text);
        c->keep = false;
        send_answer(c, &bad_request);
        return;
    }
    c->keep = http_in_reusable(c->in);
    buf_append_str(&c->rest, data);
    answer(c);
}

/* ---- Places */

/* Answers 503 to a client without a place, and closes the connection then. */
static void refuse(struct client *c)
{
    struct admin_response r;

    admin_refuse(&r, 503, "too many clients: try again");
    c->keep = false;
    send_answer(c, &r);
}

/* Whether the client has not sent its next request. Bytes that have come and were not read yet may
 * be one, so the socket is asked, too. */
static bool is_idle(const struct client *c)
{
    struct pollfd p = {.events = POLLIN};

    return c->state == CLIENT_READING && uv_fileno(&c->socket.handle, &p.fd) == 0 &&
           poll(&p, 1, 0) == 0;
}

/* The client that has asked for nothing for longest: enter() keeps these in that order. */
static struct client *longest_idle(const struct listener *l, bool privileged)
{
    list_each (pos, tmp, &l->clients) {
        struct client *c = list_entry(pos, struct client, link);

        if (c->privileged == privileged && is_idle(c))
            return c;
    }
    return NULL;
}

/* Whether there is a place for the client, perhaps that of an idle one, which is closed. Other clients
 * give way before privileged ones, and privileged ones only to privileged ones. */
static bool make_place(const struct client *c)
{
    const struct listener *l = c->listener;

    if (l->served < share(c, l->params.clients))
        return true;
    struct client *idle = longest_idle(l, false);
    if (idle == NULL && c->privileged)
        idle = longest_idle(l, true);
    if (idle == NULL)
        return false;
    log_debug("client dropped: it asked for nothing, and others wait",
              KV_U64("clients", l->served));
    close_client(idle);
    return true;
}

/* The waiting client that gets the next place: the longest waiting one, privileged ones first. */
static struct client *first_waiting(const struct listener *l)
{
    struct client *first = NULL;

    list_each (pos, tmp, &l->clients) {
        struct client *c = list_entry(pos, struct client, link);

        if (c->state == CLIENT_WAITING && (first == NULL || (c->privileged && !first->privileged)))
            first = c;
    }
    return first;
}

/* The waiting client that is refused when too many wait: the newest one, privileged ones last. */
static struct client *last_waiting(const struct listener *l)
{
    struct client *last = NULL;

    list_each (pos, tmp, &l->clients) {
        struct client *c = list_entry(pos, struct client, link);

        if (c->state == CLIENT_WAITING && (last == NULL || !c->privileged || last->privileged))
            last = c;
    }
    return last;
}

/* Gives places to waiting clients while there are any. If the first one cannot have a place, no
 * other can: a privileged one may use all of them. */
static void admit(struct listener *l)
{
    while (l->waiting > 0) {
        struct client *c = first_waiting(l);

        if (!make_place(c))
            break;
        read_next(c);
    }
    if (l->waiting > WAITING_MOST)
        refuse(last_waiting(l));
}

static void on_admit(struct loop_task *task)
{
    admit(container_of(task, struct listener, admit));
}

/* ---- The listener */

/* Whether the peer is root or the user that informerd was started as, by the credentials that the kernel
 * has of the process that connected. Without an answer the peer has no rights. */
static bool is_privileged(const struct client *c)
{
    struct ucred peer;
    socklen_t n = sizeof(peer);
    uv_os_fd_t fd;

    if (is_tcp(c->listener) || uv_fileno(&c->socket.handle, &fd) != 0 ||
        getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) != 0)
        return false;
    return peer.uid == 0 || peer.uid == c->listener->params.started_uid;
}

/* Takes a connection over from libuv, which listens on after that. Only an accepted connection can
 * be asked for its peer. The client then lives until its end by itself. */
static void accept_client(struct listener *l)
{
    /* held: the socket and the timer */
    struct client *c = MEM_NEW(struct client, .listener = l, .held = 2);
    init_endpoint(l, &c->socket);
    uv_timer_init(loop_uv(l->loop), &c->timer);
    loop_task_init(&c->task, on_task);
    list_init(&c->link);
    list_append(&l->clients, &c->link);
    bool accepted = uv_accept(&l->server.stream, &c->socket.stream) == 0;
    c->privileged = accepted && is_privileged(c);
    if (is_tcp(l))
        uv_tcp_nodelay(&c->socket.tcp, 1);
    enter(c, CLIENT_WAITING);
    /* A client enters WAITING first, so that its close is like any other. */
    if (accepted)
        admit(l);
    else
        close_client(c);
}

/* libuv does not accept another connection before one that was left is taken. */
static void on_connection(uv_stream_t *server, int status)
{
    struct listener *l = container_of(server, struct listener, server);

    if (status < 0) {
        log_warn(is_tcp(l) ? "metrics.listen: cannot accept a client"
                           : "control socket: cannot accept a client",
                 is_tcp(l) ? (struct kv){.type = KV_TYPE_NONE} : KV_STR("path", l->path),
                 KV_STR("err", uv_strerror(status)));
        return;
    }
    l->accepts++;
    loop_defer(l->loop, &l->turn);
    if (l->accepts < ACCEPTS_PER_TURN)
        accept_client(l);
}

static void on_turn(struct loop_task *task)
{
    struct listener *l = container_of(task, struct listener, turn);
    bool is_one_left = l->accepts == ACCEPTS_PER_TURN;

    l->accepts = 0;
    if (is_one_left)
        accept_client(l);
}

struct listener *listener_create(struct loop *loop, const struct listener_params *params)
{
    struct listener *l =
        MEM_NEW(struct listener, .loop = loop, .params = *params, .path = mem_strdup(params->path));
    struct stat st;

    if (l->params.idle_ms == 0)
        l->params.idle_ms = IDLE_MS;
    if (l->params.clients == 0)
        l->params.clients = LISTENER_CLIENTS;
    if (l->params.queued_bytes == 0)
        l->params.queued_bytes = LISTENER_QUEUED_BYTES;
    list_init(&l->clients);
    loop_task_init(&l->admit, on_admit);
    loop_task_init(&l->turn, on_turn);
    /* bind() has just made it: its identity is kept for remove_socket(). */
    if (!is_tcp(l) && lstat(l->path, &st) == 0) {
        l->dev = st.st_dev;
        l->ino = st.st_ino;
    }
    init_endpoint(l, &l->server);
    ensure((is_tcp(l) ? uv_tcp_open(&l->server.tcp, params->fd)
                      : uv_pipe_open(&l->server.pipe, params->fd)) == 0);
    ensure(uv_listen(&l->server.stream, BACKLOG, on_connection) == 0);
    return l;
}

static void on_server_closed(uv_handle_t *h)
{
    struct listener *l = container_of(h, struct listener, server);

    free(l->path);
    free(l);
}

/* Removes the socket file unless another process has put its own in place. Without root's rights
 * the folder may not allow it, which is no fault: the next start replaces the file. */
static void remove_socket(const struct listener *l)
{
    struct stat st;

    if (is_tcp(l) || lstat(l->path, &st) != 0 || st.st_dev != l->dev || st.st_ino != l->ino)
        return;
    if (unlink(l->path) != 0)
        log_debug("control socket stays behind; the next start replaces it",
                  KV_STR("path", l->path), KV_STR("err", strerrordesc_np(errno)));
}

void listener_dispose(struct listener **lp)
{
    struct listener *l = *lp;

    if (l == NULL)
        return;
    *lp = NULL;
    /* First, so that no client connects to a socket that is never accepted from. */
    remove_socket(l);
    list_each (pos, tmp, &l->clients)
        close_client(list_entry(pos, struct client, link));
    loop_cancel(&l->admit);
    loop_cancel(&l->turn);
    uv_close(&l->server.handle, on_server_closed);
}
