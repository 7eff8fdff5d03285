/* SPDX-License-Identifier: Apache-2.0 */
#include "io/capture.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include "base/mem.h"
#include "io/loop.h"

/* What is read of a pipe in one turn, and in one drain: a flood must not stop the loop. */
#define BYTES_AT_ONCE ((size_t)1024 * 1024)

struct capture {
    uv_poll_t poll;
    int fd;
    int writer;   /* -1 once taken */
    bool watched; /* libuv knows of poll */
    struct loop *loop;
    struct output output;
    const struct capture_events *events;
    void *arg;
};

enum progress { MORE, EMPTY, ENDED };

static enum progress read_some(struct capture *c)
{
    char *buf = loop_recv_buffer(c->loop);

    for (size_t total = 0; total < BYTES_AT_ONCE;) {
        ssize_t n = read(c->fd, buf, LOOP_RECV_BYTES);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return EMPTY;
        if (n <= 0)
            return ENDED;
        output_feed(&c->output, buf, (size_t)n, c->events->on_line, c->arg);
        total += (size_t)n;
    }
    return MORE;
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
    struct capture *c = container_of(poll, struct capture, poll);

    (void)status;
    (void)events;
    if (read_some(c) != ENDED)
        return;
    uv_poll_stop(&c->poll);
    c->events->on_eof(c->arg);
}

enum err_kind capture_create(struct loop *loop, uint64_t limit, const struct capture_events *events,
                             void *arg, struct capture **out, struct err *err)
{
    int fds[2];

    if (pipe2(fds, O_CLOEXEC) != 0)
        return err_set(err, ERR_IO, errno, "pipe: %s", strerror(errno));
    struct capture *c = mem_zalloc(sizeof(*c));
    fcntl(fds[0], F_SETFL, O_NONBLOCK);
    c->fd = fds[0];
    c->loop = loop;
    c->output.limit = limit;
    c->events = events;
    c->arg = arg;
    c->writer = fds[1];
    *out = c;
    return ERR_OK;
}

int capture_take_writer(struct capture *c)
{
    int fd = c->writer;

    c->writer = -1;
    return fd;
}

void capture_watch(struct capture *c)
{
    if (c->watched)
        return;
    c->watched = true;
    uv_poll_init(loop_uv(c->loop), &c->poll, c->fd);
    uv_poll_start(&c->poll, UV_READABLE | UV_DISCONNECT, on_readable);
}

bool capture_drain(struct capture *c)
{
    return read_some(c) == ENDED;
}

struct str capture_tail(const struct capture *c)
{
    return output_tail(&c->output);
}

uint64_t capture_dropped(const struct capture *c)
{
    return c->output.dropped;
}

static void on_closed(uv_handle_t *handle)
{
    free(container_of(handle, struct capture, poll));
}

uint64_t capture_dispose(struct capture **cp)
{
    struct capture *c = *cp;

    if (c == NULL)
        return 0;
    *cp = NULL;
    output_end(&c->output, c->events->on_line, c->arg);
    uint64_t dropped = c->output.dropped;
    if (c->watched)
        uv_poll_stop(&c->poll);
    close(c->fd);
    if (c->writer >= 0)
        close(c->writer);
    if (c->watched)
        uv_close((uv_handle_t *)&c->poll, on_closed);
    else
        free(c);
    return dropped;
}
