/* SPDX-License-Identifier: Apache-2.0 */
#include "io/caller.h"

#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <uv.h>

#include "admin/admin.h"
#include "admin/stream.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/panic.h"
#include "io/loop.h"
#include "proto/http_in.h"
#include "proto/http_out.h"

/* The most bytes of a stream that are being written to its reader, unless one line is longer. The
 * next piece is pulled when this one is written, so a reader gets changes as fast as it reads. */
enum { PIECE_BYTES = 65536 };

/* The most callers that may wait for a place, accepted and not read; beyond, the newest one is
 * refused. */
enum { WAITING_MOST = 128 };

/* No request that informerctl makes comes near: bodies mean nothing, and paths are short. */
static const struct http_limits limits = {.head_bytes = 16384, .body_bytes = 65536};

enum caller_state {
    CALLER_CLOSED,
    CALLER_WAITING,   /* waits for a place; nothing is read from it */
    CALLER_READING,   /* its next request has not come, or not completely */
    CALLER_ANSWERING, /* an answer, or the last piece of a stream, is being written */
    CALLER_STREAMING, /* a piece of a stream is being written, the next one follows */
    CALLER_QUIET,     /* the stream has nothing to give now */
};

struct caller {
    struct caller_host *host;
    struct list link;
    enum caller_state state;
    unsigned held; /* handles that libuv still knows: pipe, timer */
    bool privileged;
    uv_pipe_t pipe;
    uv_timer_t timer;
    uv_write_t write;
    struct http_in *in; /* the request that is being read or answered */
    struct buf method;
    struct buf target;
    struct buf rest; /* ANSWERING: bytes that came behind that request */
    struct buf head; /* of the answer, while it is written */
    struct buf body;
    bool keep;                   /* ANSWERING: the connection may carry another request */
    size_t unsent;               /* bytes not yet written at the last look of the timer */
    struct admin_stream *stream; /* STREAMING, QUIET */
    struct loop_task task;       /* QUIET: pulls from the stream, in a turn of its own */
    bool half_closed;            /* STREAMING, QUIET: the peer has shut down its sending side */
};

static void on_admit(struct loop_task *task);

void caller_host_init(struct caller_host *host)
{
    list_init(&host->callers);
    host->served = host->waiting = host->queued = host->streams = 0;
    loop_task_init(&host->admit, on_admit);
}

/* ---- The end of a caller */

static void free_caller(struct caller *c)
{
    http_in_destroy(&c->in);
    buf_free(&c->method);
    buf_free(&c->target);
    buf_free(&c->rest);
    buf_free(&c->head);
    buf_free(&c->body);
    free(c);
}

/* One handle is closed; the last one frees the caller. */
static void let_go(struct caller *c)
{
    ensure(c->held > 0);
    if (--c->held == 0)
        free_caller(c);
}

static void on_pipe_closed(uv_handle_t *h)
{
    let_go(container_of(h, struct caller, pipe));
}

static void on_timer_closed(uv_handle_t *h)
{
    let_go(container_of(h, struct caller, timer));
}

static void on_timer(uv_timer_t *timer);

/* Changes the state, and with it the counts of the host and the timer. Each state but CLOSED has a
 * deadline, except for QUIET: a stream without changes may be quiet for ever. But if the peer has
 * shut down its sending side, its end can no longer be read, so the timer looks for it. */
static void enter(struct caller *c, enum caller_state state)
{
    struct caller_host *host = c->host;

    host->waiting += (state == CALLER_WAITING) - (c->state == CALLER_WAITING);
    host->served += (state > CALLER_WAITING) - (c->state > CALLER_WAITING);
    c->state = state;
    if (state == CALLER_READING) { /* joins the end of those without a request */
        list_remove(&c->link);
        list_append(&host->callers, &c->link);
    }
    /* A place is free now, or there is a caller that may give its place up. */
    if (host->waiting > 0 && (state == CALLER_READING || state == CALLER_CLOSED))
        loop_defer(host->loop, &host->admit);
    if (state == CALLER_CLOSED || (state == CALLER_QUIET && !c->half_closed))
        uv_timer_stop(&c->timer);
    else
        uv_timer_start(&c->timer, on_timer, c->host->idle_ms, 0);
}

static void end_stream(struct caller *c)
{
    if (c->stream == NULL)
        return;
    c->host->streams--;
    loop_cancel(&c->task);
    admin_stream_destroy(&c->stream);
}

/* Closes the caller from any state. The memory of the answer stays until libuv has let go of the
 * pipe, as a write may be under way. */
static void close_caller(struct caller *c)
{
    struct caller_host *host = c->host;

    if (c->state == CALLER_CLOSED)
        return;
    end_stream(c);
    host->queued -= c->head.len + c->body.len;
    enter(c, CALLER_CLOSED);
    list_remove(&c->link);
    uv_close((uv_handle_t *)&c->pipe, on_pipe_closed);
    uv_close((uv_handle_t *)&c->timer, on_timer_closed);
}

/* Whether both directions of the connection are closed. POLLHUP comes without being asked for, so
 * no events are named. */
static bool hung_up(const struct caller *c)
{
    struct pollfd p = {0};

    return uv_fileno((const uv_handle_t *)&c->pipe, &p.fd) != 0 ||
           (poll(&p, 1, 0) > 0 && (p.revents & (POLLHUP | POLLERR)) != 0);
}

/* Whether the peer has read some of the answer since the last look. A caller in READING has nothing
 * to read: its time for a whole request is over. */
static bool makes_progress(struct caller *c)
{
    size_t before = c->unsent;

    c->unsent = uv_stream_get_write_queue_size((uv_stream_t *)&c->pipe);
    return c->unsent < before;
}

static void refuse(struct caller *c);

static void on_timer(uv_timer_t *timer)
{
    struct caller *c = container_of(timer, struct caller, timer);
    /* The deadline begins anew if the peer has read some of its answer, or, during a quiet stream,
     * is still there. */
    bool alive = c->state == CALLER_QUIET ? !hung_up(c) : makes_progress(c);

    if (c->state == CALLER_WAITING) {
        refuse(c);
        return;
    }
    if (alive) {
        enter(c, c->state);
        return;
    }
    if (c->state == CALLER_STREAMING)
        log_warn("stream cut off: its reader took nothing for too long",
                 KV_STR("stream", admin_stream_name(c->stream)), KV_U64("unsent", c->unsent));
    else
        log_debug("control client dropped: it was silent for too long",
                  KV_U64("unsent", c->unsent));
    close_caller(c);
}

/* ---- Reading */

static void take(struct caller *c, struct str data);

static void on_alloc(uv_handle_t *h, size_t suggested, uv_buf_t *buf)
{
    struct caller *c = container_of(h, struct caller, pipe);

    (void)suggested;
    *buf = uv_buf_init(loop_recv_buffer(c->host->loop), LOOP_RECV_BYTES);
}

/* The peer has shut down its sending side, or is gone. A peer that has sent its request may still
 * read a stream. Without a request there is nothing to answer. */
static void on_read_end(struct caller *c, ssize_t why)
{
    if (c->state == CALLER_READING || why != UV_EOF || hung_up(c)) {
        close_caller(c);
        return;
    }
    c->half_closed = true;
    if (c->state == CALLER_QUIET)
        enter(c, CALLER_QUIET);
}

/* Reading goes on during a stream only to notice the end of the peer: bytes that come then are
 * ignored. */
static void on_read(uv_stream_t *stream, ssize_t nread, const uv_buf_t *buf)
{
    struct caller *c = container_of(stream, struct caller, pipe);

    if (nread < 0)
        on_read_end(c, nread);
    else if (nread > 0 && c->state == CALLER_READING)
        take(c, str_of(buf->base, (size_t)nread));
}

/* Reads the next request of the connection, of which bytes may have come with the one before. Also
 * the first one, when a waiting caller gets a place. */
static void read_next(struct caller *c)
{
    struct buf rest = c->rest;

    c->rest = (struct buf){0};
    http_in_destroy(&c->in);
    c->in = http_in_create(HTTP_IN_REQUEST, &limits);
    buf_clear(&c->method);
    buf_clear(&c->target);
    enter(c, CALLER_READING);
    if (rest.len > 0)
        take(c, buf_str(&rest));
    buf_free(&rest);
    /* take() may have answered already, or closed the caller */
    if (c->state == CALLER_READING &&
        uv_read_start((uv_stream_t *)&c->pipe, on_alloc, on_read) != 0)
        close_caller(c);
}

/* ---- Answering */

static void pull(struct caller *c);

/* Head and body are written, or could not be. */
static void on_written(uv_write_t *req, int status)
{
    struct caller *c = container_of(req, struct caller, write);

    if (c->state == CALLER_CLOSED)
        return;
    c->host->queued -= c->head.len + c->body.len;
    buf_free(&c->head);
    /* A stream uses the memory of its body again for the next piece. */
    buf_clear(&c->body);
    if (status < 0 || (c->state == CALLER_ANSWERING && !c->keep)) {
        close_caller(c);
    } else if (c->state == CALLER_STREAMING) {
        pull(c);
    } else {
        buf_free(&c->body);
        read_next(c);
    }
}

/* Writes head and body, one of which may be empty; `state` is the state while that lasts. */
static void send_out(struct caller *c, enum caller_state state)
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
    /* Counted until on_written() or close_caller(): ask() compares it with the limit. */
    c->host->queued += c->head.len + c->body.len;
    if (uv_write(&c->write, (uv_stream_t *)&c->pipe, parts, n, on_written) != 0) {
        close_caller(c);
        return;
    }
    c->unsent = uv_stream_get_write_queue_size((uv_stream_t *)&c->pipe);
    /* a large answer takes long to make, and the deadline is to begin now */
    loop_update_now(c->host->loop);
    enter(c, state);
}

/* Writes the answer; takes the body of the response over. */
static void send_answer(struct caller *c, struct admin_response *r)
{
    http_out_response(&c->head, r->status, r->content_type, r->body.len);
    /* An answer to HEAD has no body, whatever its status. */
    if (str_is(buf_str(&c->method), "HEAD"))
        buf_clear(&r->body);
    c->body = r->body;
    r->body = (struct buf){0};
    send_out(c, CALLER_ANSWERING);
}

/* ---- Streams */

/* The stream is over: writes what there is of it, its last line included, and closes the
 * connection, which is the end of an answer without Content-Length. */
static void finish_stream(struct caller *c)
{
    if (admin_stream_complaint(c->stream) != NULL)
        log_warn("stream cut off", KV_STR("stream", admin_stream_name(c->stream)),
                 KV_STR("because", admin_stream_complaint(c->stream)));
    end_stream(c);
    uv_read_stop((uv_stream_t *)&c->pipe);
    c->keep = false;
    if (c->head.len + c->body.len > 0)
        send_out(c, CALLER_ANSWERING);
    else
        close_caller(c);
}

/* Pulls the next piece and writes it. No write may be under way. */
static void pull(struct caller *c)
{
    enum admin_stream_pulled pulled = admin_stream_pull(c->stream, &c->body, PIECE_BYTES);

    if (pulled == ADMIN_STREAM_ENDED) {
        finish_stream(c);
    } else if (c->head.len + c->body.len > 0) {
        send_out(c, CALLER_STREAMING);
    } else {
        buf_free(&c->body);
        enter(c, CALLER_QUIET);
    }
}

static void on_task(struct loop_task *task)
{
    pull(container_of(task, struct caller, task));
}

/* A caller that is writing pulls again by itself when that is done. */
static void on_ready(void *arg)
{
    struct caller *c = arg;

    if (c->state == CALLER_QUIET)
        loop_defer(c->host->loop, &c->task);
}

/* Begins a stream; takes the stream of the response over. */
static void start_stream(struct caller *c, struct admin_response *r)
{
    http_out_endless(&c->head, r->status, r->content_type);
    c->stream = r->stream;
    r->stream = NULL;
    c->host->streams++;
    if (str_is(buf_str(&c->method), "HEAD")) {
        finish_stream(c);
        return;
    }
    admin_stream_on_ready(c->stream, on_ready, c);
    pull(c);
    if (c->state != CALLER_CLOSED && uv_read_start((uv_stream_t *)&c->pipe, on_alloc, on_read) != 0)
        close_caller(c);
}

/* ---- Requests */

/* The part of a limit that the caller may use: all of it if privileged, else three quarters. So
 * clients without rights cannot lock out those who can act. */
static size_t share(const struct caller *c, size_t most)
{
    return c->privileged ? most : most - most / 4;
}

/* Gets the answer to the request, or refuses it when too much of something is in use. The handler
 * may close all callers, this one included. */
static void ask(struct caller *c, struct admin_response *r)
{
    struct caller_host *host = c->host;
    const struct admin_request req = {
        .method = buf_str(&c->method),
        .target = buf_str(&c->target),
        .privileged = c->privileged,
    };

    /* Before the request is handled: an answer is large before its size is known. */
    if (host->queued > share(c, host->queued_most)) {
        admin_refuse(r, 503, "too many answers wait for their readers: try again");
        return;
    }
    host->handle(host->handle_arg, &req, r);
    /* Only the answer says whether it is a stream. */
    if (c->state == CALLER_CLOSED || r->stream == NULL ||
        host->streams < share(c, host->streams_most))
        return;
    admin_stream_destroy(&r->stream);
    buf_free(&r->body);
    admin_refuse(r, 503, "too many streams are open: end one of them");
}

/* A caller that was closed inside the handler gets nothing: what the response holds is freed. */
static void answer(struct caller *c)
{
    struct admin_response r = {0};

    ask(c, &r);
    if (c->state == CALLER_ANSWERING && r.stream != NULL)
        start_stream(c, &r);
    else if (c->state == CALLER_ANSWERING)
        send_answer(c, &r);
    admin_stream_destroy(&r.stream);
    buf_free(&r.body);
}

/* The body of a request says nothing. */
static enum http_in_part read_request(struct caller *c, struct str *data, struct err *err)
{
    enum http_in_part part;
    struct str body;

    do {
        part = http_in_read(c->in, data, &body, err);
        if (part == HTTP_IN_HEAD) {
            buf_append_str(&c->method, http_in_head(c->in)->method);
            buf_append_str(&c->target, http_in_head(c->in)->target);
        }
    } while (part == HTTP_IN_HEAD || part == HTTP_IN_BODY);
    return part;
}

/* Takes bytes of the peer in state READING, and answers when the request is complete. Reading stops
 * meanwhile: later bytes wait in the socket, and bytes behind the request wait in rest. */
static void take(struct caller *c, struct str data)
{
    struct admin_response bad_request;
    struct err err = {0};
    enum http_in_part part = read_request(c, &data, &err);

    if (part == HTTP_IN_MORE)
        return;
    uv_read_stop((uv_stream_t *)&c->pipe);
    enter(c, CALLER_ANSWERING);
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

/* Answers 503 to a caller without a place, and closes the connection then. */
static void refuse(struct caller *c)
{
    struct admin_response r;

    admin_refuse(&r, 503, "too many clients: try again");
    c->keep = false;
    send_answer(c, &r);
}

/* Whether the caller has not sent its next request. Bytes that have come and were not read yet may
 * be one, so the socket is asked, too. */
static bool is_idle(const struct caller *c)
{
    struct pollfd p = {.events = POLLIN};

    return c->state == CALLER_READING && uv_fileno((const uv_handle_t *)&c->pipe, &p.fd) == 0 &&
           poll(&p, 1, 0) == 0;
}

/* The caller that has asked for nothing for longest: enter() keeps these in that order. */
static struct caller *longest_idle(const struct caller_host *host, bool privileged)
{
    list_each (pos, tmp, &host->callers) {
        struct caller *c = list_entry(pos, struct caller, link);

        if (c->privileged == privileged && is_idle(c))
            return c;
    }
    return NULL;
}

/* Whether there is a place for the caller, perhaps that of an idle one, which is closed. Others
 * give way before privileged ones, and privileged ones only to their like. */
static bool make_place(const struct caller *c)
{
    const struct caller_host *host = c->host;

    if (host->served < share(c, host->served_most))
        return true;
    struct caller *idle = longest_idle(host, false);
    if (idle == NULL && c->privileged)
        idle = longest_idle(host, true);
    if (idle == NULL)
        return false;
    log_debug("control client dropped: it asked for nothing, and others wait",
              KV_U64("clients", host->served));
    close_caller(idle);
    return true;
}

/* The waiting caller that gets the next place: the longest waiting one, privileged ones first. */
static struct caller *first_waiting(const struct caller_host *host)
{
    struct caller *first = NULL;

    list_each (pos, tmp, &host->callers) {
        struct caller *c = list_entry(pos, struct caller, link);

        if (c->state == CALLER_WAITING && (first == NULL || (c->privileged && !first->privileged)))
            first = c;
    }
    return first;
}

/* The waiting caller that is refused when too many wait: the newest one, privileged ones last. */
static struct caller *last_waiting(const struct caller_host *host)
{
    struct caller *last = NULL;

    list_each (pos, tmp, &host->callers) {
        struct caller *c = list_entry(pos, struct caller, link);

        if (c->state == CALLER_WAITING && (last == NULL || !c->privileged || last->privileged))
            last = c;
    }
    return last;
}

/* Gives places to waiting callers while there are any. If the first one cannot have a place, no
 * other can: a privileged one may use all of them. */
static void admit(struct caller_host *host)
{
    while (host->waiting > 0) {
        struct caller *c = first_waiting(host);

        if (!make_place(c))
            break;
        read_next(c);
    }
    if (host->waiting > WAITING_MOST)
        refuse(last_waiting(host));
}

static void on_admit(struct loop_task *task)
{
    admit(container_of(task, struct caller_host, admit));
}

/* ---- Accepting, and closing all */

/* Whether the peer is root or the user that informerd was started as, by what the kernel says about
 * the process that connected. Without an answer the peer has no rights. */
static bool is_privileged(const struct caller *c)
{
    struct ucred peer;
    socklen_t n = sizeof(peer);
    uv_os_fd_t fd;

    if (uv_fileno((const uv_handle_t *)&c->pipe, &fd) != 0 ||
        getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) != 0)
        return false;
    return peer.uid == 0 || peer.uid == c->host->started_uid;
}

void caller_accept(struct caller_host *host, struct uv_stream_s *server)
{
    /* held: the pipe and the timer */
    struct caller *c = MEM_NEW(struct caller, .host = host, .held = 2);

    uv_pipe_init(loop_uv(host->loop), &c->pipe, 0);
    uv_timer_init(loop_uv(host->loop), &c->timer);
    loop_task_init(&c->task, on_task);
    list_init(&c->link);
    list_append(&host->callers, &c->link);
    bool accepted = uv_accept(server, (uv_stream_t *)&c->pipe) == 0;
    c->privileged = accepted && is_privileged(c);
    enter(c, CALLER_WAITING);
    /* A caller enters WAITING first, so that its close is like any other. */
    if (accepted)
        admit(host);
    else
        close_caller(c);
}

void caller_close_all(struct caller_host *host)
{
    list_each (pos, tmp, &host->callers)
        close_caller(list_entry(pos, struct caller, link));
    loop_cancel(&host->admit);
}
