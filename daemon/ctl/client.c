/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/client.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/panic.h"
#include "proto/http_in.h"
#include "proto/http_out.h"

enum { TIMEOUT_S = 30, RECV_BYTES = 65536 };

/* Limits, so that another program at the socket cannot fill the memory. */
static const struct http_limits limits = {
    .head_bytes = 65536,
    .body_bytes = UINT64_C(1) << 30,
};

/* The text of errno. The program has one thread. */
static const char *reason(void)
{
    return strerror(errno); /* NOLINT(concurrency-mt-unsafe) */
}

/* The errors that a user meets get their own text, with the advice. EAGAIN is how a unix socket
 * says that its queue of connections is full. */
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

/* The timeouts are set before connect(), as they bound it, too: a daemon that hangs accepts no
 * connection. */
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

/* EAGAIN is a timeout of the socket here, as the socket blocks. */
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

/* Gives received bytes to the HTTP parser; no bytes: the daemon has closed the connection. */
static enum err_kind feed_pieces(struct http_in *in, const char *path, struct str bytes,
                                 struct err *err)
{
    enum err_kind kind;

    if (bytes.n == 0)
        kind = http_in_eof(in, err);
    else
        kind = http_in_feed(in, bytes.p, bytes.n, NULL, err);
    return kind == ERR_OK ? ERR_OK : err_wrap(err, "%s", path);
}

static enum err_kind receive(int fd, const char *path, struct http_in *in, struct err *err)
{
    char bytes[RECV_BYTES];
    ssize_t n;

    do {
        n = recv(fd, bytes, sizeof(bytes), 0);
    } while (n < 0 && errno == EINTR);
    if (n < 0)
        return io_error(err, path);
    return feed_pieces(in, path, str_of(bytes, (size_t)n), err);
}

static enum err_kind send_request(int fd, const char *path, const struct http_request *request,
                                  struct err *err)
{
    struct buf bytes = {0};

    http_out_request(&bytes, request);
    enum err_kind kind = send_all(fd, path, buf_str(&bytes), err);
    buf_free(&bytes);
    return kind;
}

static enum err_kind talk(int fd, const char *path, const struct http_request *request,
                          struct client_reply *out, struct err *err)
{
    static const struct http_in_events events = {on_head, on_body, on_end};
    struct http_in *in = http_in_create(HTTP_IN_RESPONSE, &limits, &events, out);
    enum err_kind kind = send_request(fd, path, request, err);

    while (kind == ERR_OK && !http_in_done(in))
        kind = receive(fd, path, in, err);
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

/* ---- Answers without end */

/* ENOUGH: on_line wants no more lines. */
enum following { FOLLOWING, FOLLOWING_ENOUGH, FOLLOWING_TOO_LONG };

struct follow {
    enum following state;
    const struct client_lines *lines;
    struct client_reply *refused;
    struct buf text; /* received bytes that are no whole line yet; after a refusal its body */
    size_t seen;     /* so many bytes of text were searched for a newline */
};

static bool on_follow_head(void *arg, const struct http_head *head)
{
    struct follow *f = arg;

    f->refused->status = head->status;
    return true;
}

/* Hands out the whole lines of text. Bytes that were searched are not searched again: a long line
 * comes in many pieces. */
static void hand_out(struct follow *f)
{
    size_t start = 0;
    const char *newline = NULL;

    while (f->state == FOLLOWING && f->seen < f->text.len &&
           (newline = memchr(f->text.data + f->seen, '\n', f->text.len - f->seen)) != NULL) {
        f->seen = (size_t)(newline - f->text.data) + 1;
        if (!f->lines->on_line(f->lines->arg, str_of(f->text.data + start, f->seen - start)))
            f->state = FOLLOWING_ENOUGH;
        start = f->seen;
    }
    buf_consume(&f->text, start);
    f->seen = f->text.len;
}

/* Checks the length before the bytes are kept, so a line without end costs no more memory than
 * CLIENT_LINE_BYTES. False ends the parser with an error; follow_on() looks at the state first. */
static bool on_follow_body(void *arg, const char *data, size_t n)
{
    struct follow *f = arg;

    if (f->text.len + n > CLIENT_LINE_BYTES) {
        f->state = FOLLOWING_TOO_LONG;
        return false;
    }
    buf_append(&f->text, data, n);
    if (f->refused->status == 200)
        hand_out(f);
    return f->state == FOLLOWING;
}

/* Waits without limit until the daemon sends something. False: the reader of out_fd is gone
 * (POLLERR or POLLHUP); poll() ignores -1. A quiet daemon would else keep `informerctl events -f |
 * head -1` alive for ever. */
static bool wait_for_more(int fd, int out_fd)
{
    struct pollfd p[2] = {
        {.fd = fd, .events = POLLIN},
        {.fd = out_fd       }
    };

    while (poll(p, 2, -1) < 0 && errno == EINTR)
        continue;
    return p[1].revents == 0;
}

/* Until the head of the answer has come with status 200 the timeout holds, as for any request;
 * after that the answer may be quiet for as long as nothing happens. */
static enum err_kind follow_on(int fd, const char *path, struct http_in *in, struct follow *f,
                               struct err *err)
{
    static const struct timeval none = {0};
    enum err_kind kind = ERR_OK;

    while (kind == ERR_OK && !http_in_done(in) && f->refused->status != 200)
        kind = receive(fd, path, in, err);
    ensure(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &none, sizeof(none)) == 0);
    while (kind == ERR_OK && !http_in_done(in)) {
        if (!wait_for_more(fd, f->lines->out_fd))
            return ERR_OK;
        kind = receive(fd, path, in, err);
    }
    if (f->state == FOLLOWING_ENOUGH)
        return ERR_OK;
    if (f->state == FOLLOWING_TOO_LONG)
        return err_set(err, ERR_TOO_BIG, 0, "%s: a line is longer than %zu MiB", path,
                       CLIENT_LINE_BYTES >> 20);
    if (kind == ERR_OK && f->refused->status == 200)
        return err_set(err, ERR_CLOSED, 0, "%s: informerd has ended the stream", path);
    return kind;
}

static enum err_kind follow(int fd, const char *path, const struct http_request *request,
                            struct follow *f, struct err *err)
{
    static const struct http_in_events events = {on_follow_head, on_follow_body, on_end};
    static const struct http_limits endless = {.head_bytes = 65536}; /* no limit for the body */
    struct http_in *in = http_in_create(HTTP_IN_RESPONSE, &endless, &events, f);
    enum err_kind kind = send_request(fd, path, request, err);

    if (kind == ERR_OK)
        kind = follow_on(fd, path, in, f, err);
    http_in_destroy(&in);
    return kind;
}

enum err_kind client_follow(const char *path, const char *target, const struct client_lines *lines,
                            struct client_reply *refused, struct err *err)
{
    const struct http_request request = {
        .method = "GET", .target = target, .host = "localhost", .accept = "application/x-ndjson"};
    struct follow f = {.lines = lines, .refused = refused};
    int fd = -1;

    *refused = (struct client_reply){0};
    enum err_kind kind = open_socket(path, &fd, err);
    if (kind != ERR_OK)
        return kind;
    kind = follow(fd, path, &request, &f, err);
    close(fd);
    if (kind == ERR_OK && refused->status != 200)
        refused->body = f.text;
    else
        buf_free(&f.text);
    return kind;
}
