/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/client.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/panic.h"
#include "ctl/clock.h"
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
static enum err_kind open_socket(const char *path, unsigned timeout_s, int *fd, struct err *err)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    const struct timeval timeout = {.tv_sec = timeout_s};

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
        return err_set(err, ERR_TIMEOUT, errno, "%s: informerd said nothing for too long", path);
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

/* One request and its answer. */
struct conversation {
    int fd;
    const char *path;
    struct http_in *in;
    struct str left; /* received bytes that were not read yet, in bytes */
    char bytes[RECV_BYTES];
};

/* Returns the result of recv(). */
static ssize_t receive(struct conversation *c)
{
    ssize_t n;

    do {
        n = recv(c->fd, c->bytes, sizeof(c->bytes), 0);
    } while (n < 0 && errno == EINTR);
    c->left = str_of(c->bytes, n > 0 ? (size_t)n : 0);
    return n;
}

/* Returns HEAD, BODY, END or FAILED. */
static enum http_in_part next_part(struct conversation *c, struct str *piece, struct err *err)
{
    enum http_in_part part;
    ssize_t n = 1;

    while ((part = http_in_read(c->in, &c->left, piece, err)) == HTTP_IN_MORE && n > 0)
        n = receive(c);
    if (part == HTTP_IN_MORE && n < 0) {
        io_error(err, c->path);
        return HTTP_IN_FAILED;
    }
    if (part == HTTP_IN_MORE) /* the daemon has closed the connection */
        part = http_in_eof(c->in, err) == ERR_OK ? HTTP_IN_END : HTTP_IN_FAILED;
    if (part == HTTP_IN_FAILED)
        err_wrap(err, "%s", c->path);
    return part;
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
    struct conversation c = {
        .fd = fd, .path = path, .in = http_in_create(HTTP_IN_RESPONSE, &limits)};
    enum err_kind kind = send_request(fd, path, request, err);
    enum http_in_part part = HTTP_IN_MORE;
    struct str piece;

    while (kind == ERR_OK && part != HTTP_IN_END) {
        part = next_part(&c, &piece, err);
        if (part == HTTP_IN_HEAD)
            out->status = http_in_head(c.in)->status;
        else if (part == HTTP_IN_BODY)
            buf_append_str(&out->body, piece);
        else if (part == HTTP_IN_FAILED)
            kind = err->kind;
    }
    http_in_destroy(&c.in);
    return kind;
}

enum err_kind client_ask_within(const char *path, unsigned timeout_s, const char *method,
                                const char *target, struct client_reply *out, struct err *err)
{
    const struct http_request request = {.method = method, .target = target, .host = "localhost"};
    int fd = -1;

    *out = (struct client_reply){0};
    enum err_kind kind = open_socket(path, timeout_s, &fd, err);
    if (kind != ERR_OK)
        return kind;
    kind = talk(fd, path, &request, out, err);
    close(fd);
    if (kind != ERR_OK)
        buf_free(&out->body);
    return kind;
}

enum err_kind client_ask(const char *path, const char *method, const char *target,
                         struct client_reply *out, struct err *err)
{
    return client_ask_within(path, TIMEOUT_S, method, target, out, err);
}

/* ---- Answers without end */

/* ENOUGH: on_line wants no more lines. */
enum following { FOLLOWING, FOLLOWING_ENOUGH, FOLLOWING_TOO_LONG };

struct follow {
    enum following state;
    struct client_lines lines;
    struct buf text; /* received bytes that are no whole line yet */
    size_t seen;     /* so many bytes of text were searched for a newline */
};

/* Hands out the whole lines of text. Bytes that were searched are not searched again: a long line
 * comes in many pieces. */
static void hand_out(struct follow *f)
{
    size_t start = 0;
    const char *newline = NULL;

    while (f->state == FOLLOWING && f->seen < f->text.len &&
           (newline = memchr(f->text.data + f->seen, '\n', f->text.len - f->seen)) != NULL) {
        f->seen = (size_t)(newline - f->text.data) + 1;
        if (!f->lines.on_line(f->lines.arg, str_of(f->text.data + start, f->seen - start)))
            f->state = FOLLOWING_ENOUGH;
        start = f->seen;
    }
    buf_consume(&f->text, start);
    f->seen = f->text.len;
}

/* Checks the length before the bytes are kept, so a line without end costs no more memory than
 * CLIENT_LINE_BYTES. */
static void take_piece(struct follow *f, struct str piece)
{
    if (f->text.len + piece.n > CLIENT_LINE_BYTES) {
        f->state = FOLLOWING_TOO_LONG;
        return;
    }
    buf_append_str(&f->text, piece);
    hand_out(f);
}

struct client_stream {
    struct follow follow;
    struct conversation c;
};

/* Far more than the sentence of any refusal: another program may answer without end. */
#define REFUSAL_BYTES ((size_t)64 * 1024)

/* The head of the answer; of a refusal also the body, into *refused. */
static enum err_kind read_head(struct client_stream *s, struct client_reply *refused,
                               struct err *err)
{
    enum http_in_part part = HTTP_IN_MORE;
    struct str piece;

    while (part != HTTP_IN_END && refused->status != 200) {
        part = next_part(&s->c, &piece, err);
        if (part == HTTP_IN_HEAD)
            refused->status = http_in_head(s->c.in)->status;
        else if (part == HTTP_IN_FAILED)
            return err->kind;
        else if (part == HTTP_IN_BODY)
            buf_append_str(&refused->body, piece);
        if (refused->body.len > REFUSAL_BYTES)
            return err_set(err, ERR_TOO_BIG, 0, "%s: is it informerd that answers there?",
                           s->c.path);
    }
    return ERR_OK;
}

enum err_kind client_stream_open(const char *path, const char *target,
                                 const struct client_lines *lines, struct client_stream **out,
                                 struct client_reply *refused, struct err *err)
{
    static const struct http_limits endless = {.head_bytes = 65536};
    const struct http_request request = {.method = lines->method != NULL ? lines->method : "GET",
                                         .target = target,
                                         .host = "localhost",
                                         .accept = "application/x-ndjson"};
    int fd = -1;

    *out = NULL;
    *refused = (struct client_reply){0};
    enum err_kind kind = open_socket(path, TIMEOUT_S, &fd, err);
    if (kind != ERR_OK)
        return kind;
    struct client_stream *s = mem_zalloc(sizeof(*s));
    s->follow.lines = *lines;
    s->c.fd = fd;
    s->c.path = path;
    s->c.in = http_in_create(HTTP_IN_RESPONSE, &endless);
    kind = send_request(fd, path, &request, err);
    if (kind == ERR_OK)
        kind = read_head(s, refused, err);
    if (kind == ERR_OK && refused->status == 200)
        *out = s;
    else
        client_stream_close(&s);
    if (kind != ERR_OK)
        buf_free(&refused->body);
    return kind;
}

int client_stream_fd(const struct client_stream *s)
{
    return s->c.fd;
}

enum err_kind client_stream_read(struct client_stream *s, bool receives, struct err *err)
{
    enum http_in_part part = HTTP_IN_MORE;
    struct str piece;

    if (receives && receive(&s->c) <= 0)
        return err_set(err, ERR_CLOSED, 0, "%s: informerd has ended the stream", s->c.path);
    while (s->follow.state == FOLLOWING &&
           (part = http_in_read(s->c.in, &s->c.left, &piece, err)) == HTTP_IN_BODY)
        take_piece(&s->follow, piece);
    if (s->follow.state == FOLLOWING_ENOUGH)
        return ERR_OK;
    if (s->follow.state == FOLLOWING_TOO_LONG)
        return err_set(err, ERR_TOO_BIG, 0, "%s: a line is longer than %zu MiB", s->c.path,
                       CLIENT_LINE_BYTES >> 20);
    if (part == HTTP_IN_FAILED)
        return err_wrap(err, "%s", s->c.path);
    if (part == HTTP_IN_END)
        return err_set(err, ERR_CLOSED, 0, "%s: informerd has ended the stream", s->c.path);
    return ERR_OK;
}

void client_stream_close(struct client_stream **sp)
{
    struct client_stream *s = *sp;

    if (s == NULL)
        return;
    *sp = NULL;
    close(s->c.fd);
    http_in_destroy(&s->c.in);
    buf_free(&s->follow.text);
    free(s);
}

/* ---- One of them alone */

/* Waits until the daemon sends something. False: it is until_ms, or the reader of out_fd is gone
 * (POLLERR or POLLHUP); poll() ignores -1. A quiet daemon would else keep `informerctl events -f |
 * head -1` alive for ever. */
static bool wait_for_more(const struct client_stream *s)
{
    const struct client_lines *lines = &s->follow.lines;
    struct pollfd p[2] = {
        {.fd = s->c.fd, .events = POLLIN},
        {.fd = lines->out_fd            }
    };

    while (poll(p, 2, lines->until_ms > 0 ? clock_left_ms(lines->until_ms) : -1) < 0 &&
           errno == EINTR)
        continue;
    return p[1].revents == 0 && p[0].revents != 0;
}

enum err_kind client_follow(const char *path, const char *target, const struct client_lines *lines,
                            struct client_reply *refused, struct err *err)
{
    struct client_stream *s = NULL;
    enum err_kind kind = client_stream_open(path, target, lines, &s, refused, err);

    if (s == NULL)
        return kind;
    kind = client_stream_read(s, false, err);
    while (kind == ERR_OK && s->follow.state == FOLLOWING && wait_for_more(s))
        kind = client_stream_read(s, true, err);
    client_stream_close(&s);
    return kind;
}
