/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/client.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/panic.h"
#include "proto/http_in.h"
#include "proto/http_out.h"

enum { TIMEOUT_S = 30, RECV_BYTES = 65536 };

static const struct http_limits limits = {
    .head_bytes = 65536,
    .body_bytes = UINT64_C(1) << 30,
};

/* Of errno, in a program with one thread. */
static const char *reason(void)
{
    return strerror(errno); /* NOLINT(concurrency-mt-unsafe) */
}

static enum err_kind connect_error(struct err *err, const char *path)
{
    switch (errno) {
    case ENOENT:
        return err_set(err, ERR_NOT_FOUND, ENOENT,
                       "there is no control socket %s: is informerd running? (--socket names "
                       "another one)",
                       path);
    case ECONNREFUSED:
        return err_set(err, ERR_REFUSED, ECONNREFUSED,
                       "nobody answers at %s: informerd is not running", path);
    case EACCES:
    case EPERM:
        return err_set(err, ERR_FORBIDDEN, EACCES,
                       "not allowed to open %s: be root, or in the group that owns it", path);
    case EAGAIN:
        return err_set(err, ERR_TIMEOUT, EAGAIN, "%s: informerd has too many clients", path);
    default:
        return err_set(err, ERR_IO, errno, "%s: connect: %s", path, reason());
    }
}

/* The timeouts bound connect() too. */
static enum err_kind open_socket(const char *path, int *fd, struct err *err)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    const struct timeval timeout = {.tv_sec = TIMEOUT_S};

    if (strlen(path) >= sizeof(at.sun_path))
        return err_set(err, ERR_CONFIG, ENAMETOOLONG, "%s: too long for a unix socket", path);
    memcpy(at.sun_path, path, strlen(path) + 1);
    *fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (*fd < 0)
        return err_set(err, ERR_IO, errno, "socket: %s", reason());
    ensure(setsockopt(*fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout)) == 0);
    ensure(setsockopt(*fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout)) == 0);
    if (connect(*fd, (const struct sockaddr *)&at, sizeof(at)) == 0)
        return ERR_OK;
    connect_error(err, path);
    close(*fd);
    return err->kind;
}

static enum err_kind io_error(struct err *err, const char *path)
{
    if (errno == EAGAIN)
        return err_set(err, ERR_TIMEOUT, errno, "%s: informerd said nothing for %d s", path,
                       TIMEOUT_S);
    return err_set(err, ERR_IO, errno, "%s: %s", path, reason());
}

static enum err_kind send_all(int fd, const char *path, struct str bytes, struct err *err)
{
    while (bytes.n > 0) {
        ssize_t n = send(fd, bytes.p, bytes.n, MSG_NOSIGNAL);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return io_error(err, path);
        bytes = str_of(bytes.p + n, bytes.n - (size_t)n);
    }
    return ERR_OK;
}

static bool on_head(void *arg, const struct http_head *head)
{
    struct client_reply *reply = arg;

    reply->status = head->status;
    return true;
}

static bool on_body(void *arg, const char *data, size_t n)
{
    struct client_reply *reply = arg;

    buf_append(&reply->body, data, n);
    return true;
}

static void on_end(void *arg)
{
    (void)arg;
}

static enum err_kind read_all(int fd, const char *path, struct http_in *in, struct err *err)
{
    char bytes[RECV_BYTES];

    while (!http_in_done(in)) {
        ssize_t n = recv(fd, bytes, sizeof(bytes), 0);
        enum err_kind kind = ERR_OK;

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return io_error(err, path);
        if (n == 0)
            kind = http_in_eof(in, err);
        else
            kind = http_in_feed(in, bytes, (size_t)n, NULL, err);
        if (kind != ERR_OK)
            return err_wrap(err, "%s", path);
    }
    return ERR_OK;
}

static enum err_kind talk(int fd, const char *path, const struct http_request *request,
                          struct client_reply *out, struct err *err)
{
    static const struct http_in_events events = {on_head, on_body, on_end};
    struct http_in *in = http_in_create(HTTP_IN_RESPONSE, &limits, &events, out);
    struct buf bytes = {0};

    http_out_request(&bytes, request);
    enum err_kind kind = send_all(fd, path, buf_str(&bytes), err);
    if (kind == ERR_OK)
        kind = read_all(fd, path, in, err);
    buf_free(&bytes);
    http_in_destroy(&in);
    return kind;
}

enum err_kind client_ask(const char *path, const char *method, const char *target,
                         struct client_reply *out, struct err *err)
{
    const struct http_request request = {.method = method, .target = target, .host = "localhost"};
    int fd = -1;

    *out = (struct client_reply){0};
    enum err_kind kind = open_socket(path, &fd, err);
    if (kind != ERR_OK)
        return kind;
    kind = talk(fd, path, &request, out, err);
    close(fd);
    if (kind != ERR_OK)
        buf_free(&out->body);
    return kind;
}
