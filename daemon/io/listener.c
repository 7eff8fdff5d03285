/* SPDX-License-Identifier: Apache-2.0 */
#include "io/listener.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <uv.h>

#include "admin/admin.h"
#include "base/list.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/panic.h"
#include "io/loop.h"
#include "proto/http_in.h"
#include "proto/http_out.h"

#define IDLE_MS 30000

enum { BACKLOG = 128 };

static const struct http_limits limits = {.head_bytes = 16384, .body_bytes = 65536};

struct listener {
    struct loop *loop;
    uv_pipe_t server;
    char *path;
    dev_t dev; /* of our socket file */
    ino_t ino;
    struct listener_params params;
    struct list clients;
    size_t client_count;
    size_t queued; /* bytes of answers under way */
    bool waiting;  /* a connection is left unaccepted until a client goes */
};

enum client_state { CLIENT_READING, CLIENT_ANSWERING, CLIENT_CLOSED };

struct client {
    struct listener *listener;
    struct list link;
    enum client_state state;
    unsigned held; /* what libuv still knows: pipe, timer */
    bool privileged;
    uv_pipe_t pipe;
    uv_timer_t timer; /* runs while not CLOSED */
    uv_write_t write;
    struct http_in *in; /* the message being read or answered */
    struct buf method;
    struct buf target;
    struct buf rest; /* ANSWERING: bytes behind that message */
    struct buf head; /* ANSWERING: being written */
    struct buf body;
    bool keep;     /* ANSWERING: another request may follow */
    size_t unsent; /* ANSWERING: bytes at the last look of the timer */
};

/* ---- The socket file */

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

static int new_socket(void)
{
    return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

/* Removes a socket that a dead process left; fine if there is none. */
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
    int fd = new_socket();
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

/* The file has its final mode from its first moment. */
static enum err_kind bind_and_listen(int fd, const struct sockaddr_un *at, gid_t group,
                                     struct err *err)
{
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
    int made = new_socket();
    if (made < 0)
        return err_set(err, ERR_IO, errno, "socket: %s", strerrordesc_np(errno));
    kind = bind_and_listen(made, &at, group, err);
    if (kind != ERR_OK)
        close(made);
    else
        *fd = made;
    return kind;
}

/* ---- One client */

static void accept_one(struct listener *l);
static void take(struct client *c, const char *data, size_t n);

static void free_client(struct client *c)
{
    http_in_destroy(&c->in);
    buf_free(&c->method);
    buf_free(&c->target);
    buf_free(&c->rest);
    buf_free(&c->head);
    buf_free(&c->body);
    free(c);
}

static void let_go(struct client *c)
{
    ensure(c->held > 0);
    if (--c->held == 0)
        free_client(c);
}

static void on_pipe_closed(uv_handle_t *h)
{
    let_go(container_of(h, struct client, pipe));
}

static void on_timer_closed(uv_handle_t *h)
{
    let_go(container_of(h, struct client, timer));
}

static void on_timer(uv_timer_t *timer);

static void enter(struct client *c, enum client_state state)
{
    c->state = state;
    if (state == CLIENT_CLOSED)
        uv_timer_stop(&c->timer);
    else
        uv_timer_start(&c->timer, on_timer, c->listener->params.idle_ms, 0);
}

static void free_answer(struct client *c)
{
    if (c->state == CLIENT_ANSWERING)
        c->listener->queued -= c->head.len + c->body.len;
    buf_free(&c->head);
    buf_free(&c->body);
}

/* The memory of the answer stays until libuv has let go of it. */
static void close_client(struct client *c)
{
    struct listener *l = c->listener;

    if (c->state == CLIENT_CLOSED)
        return;
    if (c->state == CLIENT_ANSWERING)
        l->queued -= c->head.len + c->body.len;
    enter(c, CLIENT_CLOSED);
    list_remove(&c->link);
    l->client_count--;
    uv_close((uv_handle_t *)&c->pipe, on_pipe_closed);
    uv_close((uv_handle_t *)&c->timer, on_timer_closed);
    if (l->waiting)
        accept_one(l);
}

static void on_timer(uv_timer_t *timer)
{
    struct client *c = container_of(timer, struct client, timer);
    size_t unsent = uv_stream_get_write_queue_size((uv_stream_t *)&c->pipe);

    if (c->state == CLIENT_ANSWERING && unsent < c->unsent) {
        c->unsent = unsent;
        enter(c, CLIENT_ANSWERING);
        return;
    }
    log_debug("control client dropped: it was silent for too long", KV_U64("unsent", unsent));
    close_client(c);
}

static bool on_head(void *arg, const struct http_head *head)
{
    struct client *c = arg;

    buf_append_str(&c->method, head->method);
    buf_append_str(&c->target, head->target);
    return true;
}

static bool on_body(void *arg, const char *data, size_t n)
{
    (void)arg;
    (void)data;
    (void)n;
    return true;
}

static void on_end(void *arg)
{
    (void)arg; /* answered when http_in_feed() has returned */
}

static const struct http_in_events in_events = {on_head, on_body, on_end};

static void on_alloc(uv_handle_t *h, size_t suggested, uv_buf_t *buf)
{
    struct client *c = container_of(h, struct client, pipe);

    (void)suggested;
    *buf = uv_buf_init(loop_recv_buffer(c->listener->loop), LOOP_RECV_BYTES);
}

static void on_read(uv_stream_t *stream, ssize_t nread, const uv_buf_t *buf)
{
    struct client *c = container_of(stream, struct client, pipe);

    if (nread < 0)
        close_client(c);
    else if (nread > 0)
        take(c, buf->base, (size_t)nread);
}

/* The next request of the connection, of which some bytes may be here already. */
static void read_next(struct client *c)
{
    struct buf rest = c->rest;

    c->rest = (struct buf){0};
    http_in_destroy(&c->in);
    c->in = http_in_create(HTTP_IN_REQUEST, &limits, &in_events, c);
    buf_clear(&c->method);
    buf_clear(&c->target);
    enter(c, CLIENT_READING);
    if (rest.len > 0)
        take(c, rest.data, rest.len);
    buf_free(&rest);
    if (c->state == CLIENT_READING &&
        uv_read_start((uv_stream_t *)&c->pipe, on_alloc, on_read) != 0)
        close_client(c);
}

static void on_written(uv_write_t *req, int status)
{
    struct client *c = container_of(req, struct client, write);

    if (c->state == CLIENT_CLOSED)
        return;
    free_answer(c);
    if (status < 0 || !c->keep)
        close_client(c);
    else
        read_next(c);
}

/* Takes the body of the response. */
static void send_answer(struct client *c, struct admin_response *r)
{
    uv_buf_t parts[2];

    http_out_response(&c->head, r->status, r->content_type, r->body.len);
    if (str_is(buf_str(&c->method), "HEAD"))
        buf_clear(&r->body);
    c->body = r->body;
    r->body = (struct buf){0};
    c->listener->queued += c->head.len + c->body.len;
    parts[0] = uv_buf_init(c->head.data, (unsigned)c->head.len);
    parts[1] = uv_buf_init(c->body.data, 0);
    parts[1].len = c->body.len;
    if (uv_write(&c->write, (uv_stream_t *)&c->pipe, parts, c->body.len > 0 ? 2 : 1, on_written) !=
        0) {
        close_client(c);
        return;
    }
    c->unsent = uv_stream_get_write_queue_size((uv_stream_t *)&c->pipe);
    loop_update_now(c->listener->loop); /* a large answer takes long to make */
    enter(c, CLIENT_ANSWERING);
}

static void answer(struct client *c)
{
    const struct listener *l = c->listener;
    struct admin_request req = {
        .method = buf_str(&c->method),
        .target = buf_str(&c->target),
        .privileged = c->privileged,
    };
    struct admin_response r = {0};

    if (l->queued > LISTENER_QUEUED_BYTES)
        admin_refuse(&r, 503, "too many answers wait for their readers: try again");
    else
        l->params.handle(l->params.arg, &req, &r);
    if (c->state == CLIENT_ANSWERING)
        send_answer(c, &r);
    buf_free(&r.body);
}

/* Bytes of the peer in state READING. */
static void take(struct client *c, const char *data, size_t n)
{
    struct admin_response refusal;
    struct err err = {0};
    size_t used = 0;
    enum err_kind kind = http_in_feed(c->in, data, n, &used, &err);

    if (kind == ERR_OK && !http_in_done(c->in))
        return;
    uv_read_stop((uv_stream_t *)&c->pipe);
    enter(c, CLIENT_ANSWERING);
    if (kind != ERR_OK) {
        admin_refuse(&refusal, 400, err.text);
        c->keep = false;
        send_answer(c, &refusal);
        return;
    }
    c->keep = http_in_reusable(c->in);
    buf_append(&c->rest, data + used, n - used);
    answer(c);
}

/* ---- The listener */

/* Who is at the other end, as the kernel knows it. */
static bool is_privileged(const struct client *c)
{
    struct ucred peer;
    socklen_t n = sizeof(peer);
    uv_os_fd_t fd;

    if (uv_fileno((const uv_handle_t *)&c->pipe, &fd) != 0 ||
        getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) != 0)
        return false;
    return peer.uid == 0 || peer.uid == c->listener->params.started_uid;
}

static void accept_one(struct listener *l)
{
    struct client *c = MEM_NEW(struct client, .listener = l, .held = 2);

    l->waiting = false;
    uv_pipe_init(loop_uv(l->loop), &c->pipe, 0);
    uv_timer_init(loop_uv(l->loop), &c->timer);
    list_init(&c->link);
    list_append(&l->clients, &c->link);
    l->client_count++;
    if (uv_accept((uv_stream_t *)&l->server, (uv_stream_t *)&c->pipe) != 0) {
        close_client(c);
        return;
    }
    c->privileged = is_privileged(c);
    read_next(c);
}

static void on_connection(uv_stream_t *server, int status)
{
    struct listener *l = container_of(server, struct listener, server);

    if (status < 0)
        log_warn("control socket: cannot accept a client", KV_STR("path", l->path),
                 KV_STR("why", uv_strerror(status)));
    else if (l->client_count >= LISTENER_CLIENTS)
        l->waiting = true;
    else
        accept_one(l);
}

struct listener *listener_create(struct loop *loop, const struct listener_params *params)
{
    struct listener *l = MEM_NEW(struct listener, .loop = loop, .params = *params);
    struct stat st;

    l->path = mem_strdup(params->path);
    if (l->params.idle_ms == 0)
        l->params.idle_ms = IDLE_MS;
    if (lstat(l->path, &st) == 0) {
        l->dev = st.st_dev;
        l->ino = st.st_ino;
    }
    list_init(&l->clients);
    uv_pipe_init(loop_uv(loop), &l->server, 0);
    ensure(uv_pipe_open(&l->server, params->fd) == 0);
    ensure(uv_listen((uv_stream_t *)&l->server, BACKLOG, on_connection) == 0);
    return l;
}

static void on_server_closed(uv_handle_t *h)
{
    struct listener *l = container_of(h, struct listener, server);

    free(l->path);
    free(l);
}

static void remove_socket(const struct listener *l)
{
    struct stat st;

    if (lstat(l->path, &st) != 0 || st.st_dev != l->dev || st.st_ino != l->ino)
        return;
    if (unlink(l->path) != 0)
        log_debug("control socket stays behind; the next start replaces it",
                  KV_STR("path", l->path), KV_STR("why", strerrordesc_np(errno)));
}

void listener_dispose(struct listener **lp)
{
    struct listener *l = *lp;

    if (l == NULL)
        return;
    *lp = NULL;
    l->waiting = false;
    remove_socket(l);
    list_each (pos, tmp, &l->clients)
        close_client(list_entry(pos, struct client, link));
    uv_close((uv_handle_t *)&l->server, on_server_closed);
}
