/* SPDX-License-Identifier: Apache-2.0 */
#include "io/pipe_in.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include "base/mem.h"
#include "io/loop.h"

/* The most bytes that are read in one turn, and in one drain: a program that prints without an end
 * must not stop the loop. */
#define BYTES_AT_ONCE ((size_t)1024 * 1024)

struct pipe_in {
    uv_poll_t poll;
    int fd;
    int writer;   /* the program's end; -1 = given away */
    bool watched; /* libuv knows the handle `poll` */
    struct loop *loop;
    const struct pipe_in_events *events;
    void *arg;
};

/* The result of a read: more may be there, nothing is there now, or the pipe has ended. */
enum progress { MORE, EMPTY, ENDED };

/* Any error but EAGAIN counts as the end: there is nothing more to get. */
static enum progress read_some(struct pipe_in *p)
{
    char *buf = loop_recv_buffer(p->loop);

    for (size_t total = 0; total < BYTES_AT_ONCE;) {
        ssize_t n = read(p->fd, buf, LOOP_RECV_BYTES);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return EMPTY;
        if (n <= 0)
            return ENDED;
        p->events->on_data(p->arg, buf, (size_t)n);
        total += (size_t)n;
    }
    return MORE;
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
    struct pipe_in *p = container_of(poll, struct pipe_in, poll);

    (void)status;
    (void)events;
    if (read_some(p) != ENDED)
        return;
    /* Before on_eof, which may dispose p: a pipe at its end is always readable. */
    uv_poll_stop(&p->poll);
    p->events->on_eof(p->arg);
}

enum err_kind pipe_in_create(struct loop *loop, const struct pipe_in_events *events, void *arg,
                             struct pipe_in **out, struct err *err)
{
    int fds[2];

    if (pipe2(fds, O_CLOEXEC) != 0)
        return err_set(err, ERR_IO, errno, "pipe: %s", strerror(errno));
    struct pipe_in *p = mem_zalloc(sizeof(*p));
    /* Only our end: programs expect a stdout that blocks. */
    fcntl(fds[0], F_SETFL, O_NONBLOCK);
    p->fd = fds[0];
    p->loop = loop;
    p->events = events;
    p->arg = arg;
    p->writer = fds[1];
    *out = p;
    return ERR_OK;
}

int pipe_in_take_writer(struct pipe_in *p)
{
    int fd = p->writer;

    p->writer = -1;
    return fd;
}

void pipe_in_watch(struct pipe_in *p)
{
    if (p->watched)
        return;
    p->watched = true;
    uv_poll_init(loop_uv(p->loop), &p->poll, p->fd);
    uv_poll_start(&p->poll, UV_READABLE | UV_DISCONNECT, on_readable);
}

bool pipe_in_drain(struct pipe_in *p)
{
    return read_some(p) == ENDED;
}

static void on_closed(uv_handle_t *handle)
{
    free(container_of(handle, struct pipe_in, poll));
}

void pipe_in_dispose(struct pipe_in **pp)
{
    struct pipe_in *p = *pp;

    if (p == NULL)
        return;
    *pp = NULL;
    /* Polling ends before the close: libuv must not poll a number that another file may have by
     * then. */
    if (p->watched)
        uv_poll_stop(&p->poll);
    close(p->fd);
    if (p->writer >= 0)
        close(p->writer);
    if (p->watched)
        uv_close((uv_handle_t *)&p->poll, on_closed);
    else
        free(p);
}
