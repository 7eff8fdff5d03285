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

#include "base/log.h"
#include "base/mem.h"
#include "base/panic.h"
#include "io/caller.h"
#include "io/loop.h"

/* The default of listener_params.idle_ms. */
#define IDLE_MS 30000

/* Connections that may wait to be accepted; later clients wait in connect(), or get EAGAIN. */
enum { BACKLOG = 128 };

struct listener {
    uv_pipe_t server;
    char *path;
    dev_t dev; /* identity of our socket file: another informerd may replace it */
    ino_t ino;
    struct caller_host host;
};

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

static int new_socket(void)
{
    return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
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

/* ---- The listener */

static void on_connection(uv_stream_t *server, int status)
{
    struct listener *l = container_of(server, struct listener, server);

    if (status < 0)
        log_warn("control socket: cannot accept a client", KV_STR("path", l->path),
                 KV_STR("why", uv_strerror(status)));
    else
        caller_accept(&l->host, server);
}

struct listener *listener_create(struct loop *loop, const struct listener_params *params)
{
    struct listener *l = mem_zalloc(sizeof(*l));
    struct stat st;

    l->path = mem_strdup(params->path);
    l->host = (struct caller_host){
        .loop = loop,
        .idle_ms = params->idle_ms > 0 ? params->idle_ms : IDLE_MS,
        .started_uid = params->started_uid,
        .served_most = LISTENER_CLIENTS,
        .queued_most = LISTENER_QUEUED_BYTES,
        .streams_most = LISTENER_STREAMS,
        .handle = params->handle,
        .handle_arg = params->arg,
    };
    caller_host_init(&l->host);
    /* bind() has just made it: its identity is kept for remove_socket(). */
    if (lstat(l->path, &st) == 0) {
        l->dev = st.st_dev;
        l->ino = st.st_ino;
    }
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

/* Removes the socket file unless another process has put its own in place. Without root's rights
 * the folder may not allow it, which is no fault: the next start replaces the file. */
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
    /* First, so that no client connects to a socket that is never accepted from. */
    remove_socket(l);
    caller_close_all(&l->host);
    uv_close((uv_handle_t *)&l->server, on_server_closed);
}
