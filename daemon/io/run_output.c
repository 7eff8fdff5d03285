/* SPDX-License-Identifier: Apache-2.0 */
#include "io/run_output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include "base/mem.h"
#include "base/memfile.h"
#include "hook/output.h"
#include "io/deadline.h"
#include "io/loop.h"

/* The most bytes that are read in one turn, and in one drain: a program that prints without an end
 * must not stop the loop. */
#define BYTES_AT_ONCE ((size_t)1024 * 1024)

/* Output that nobody gets costs main time all the same. Beyond so many bytes of it a stream is read
 * only LOOP_RECV_BYTES at a time, with a pause after each: the program waits in its write() as for any
 * slow reader (docs/decisions.md "A program that prints without an end is slowed down"). */
#define WASTE_BYTES ((uint64_t)1024 * 1024)
enum { WASTE_PAUSE_MS = 10 };

enum { STREAM_STDOUT, STREAM_STDERR, STREAM_CAPTURE, STREAMS };

/* Does libuv know the handle `poll` of a stream, and look at the pipe? */
enum watching { UNWATCHED, WATCHED, PAUSED };

/* A pipe that a program writes to. */
struct stream {
    uv_poll_t poll;
    struct run_output *of;
    int fd; /* our end; -1 = it has not begun, or is over */
    enum watching watching;
    struct output output; /* lines for the log; not of CAPTURE */
};

struct run_output {
    struct run_output_params params;
    struct stream streams[STREAMS];
    struct buf captured;
    bool is_full;      /* more than capture_max came, or than fits: nothing is captured any more */
    bool lacks_memory; /* is_full, because there was no memory */
    int spare;         /* stderr for the program that follows; -1 = no program follows */
    struct deadline *pause; /* of all streams that are PAUSED; NULL = there was none so far */
    int trouble;            /* of libuv, once logged: why a stream is not watched; 0 = none */
    size_t handles;         /* that libuv still knows */
    bool is_disposed;       /* the last handle to close frees the object */
};

static void free_if_unused(struct run_output *o)
{
    if (!o->is_disposed || o->handles > 0)
        return;
    buf_free(&o->captured);
    for (size_t i = 0; i < STREAMS; i++)
        output_free(&o->streams[i].output);
    free(o);
}

static void on_closed(uv_handle_t *handle)
{
    struct run_output *o = container_of(handle, struct stream, poll)->of;

    o->handles--;
    free_if_unused(o);
}

static const char *name_of(const struct stream *s)
{
    return s == &s->of->streams[STREAM_STDOUT] ? "stdout" : "stderr";
}

static void on_line(void *arg, struct str line)
{
    const struct stream *s = arg;

    s->of->params.on_line(s->of->params.arg, name_of(s), line);
}

/* Ends a stream; the tail of its output stays. Polling ends before the close: libuv must not poll a
 * number that another file may have by then. */
static void end(struct stream *s)
{
    const struct run_output_params *p = &s->of->params;

    if (s->fd < 0)
        return;
    if (s->watching != UNWATCHED)
        uv_poll_stop(&s->poll);
    close(s->fd);
    s->fd = -1;
    if (s->watching != UNWATCHED)
        uv_close((uv_handle_t *)&s->poll, on_closed);
    output_end(&s->output, on_line, s);
    if (s->output.dropped > 0)
        p->on_dropped(p->arg, name_of(s), s->output.dropped);
}

static void capture(struct run_output *o, const char *data, size_t n)
{
    if (o->is_full)
        return;
    o->lacks_memory =
        n <= o->params.capture_max - o->captured.len && !buf_try_room(&o->captured, n);
    if (n <= o->params.capture_max - o->captured.len && !o->lacks_memory) {
        buf_append(&o->captured, data, n);
        return;
    }
    /* Half of the output is of no use: the memory is given back at once. */
    o->is_full = true;
    buf_free(&o->captured);
    o->params.on_full(o->params.arg);
}

/* Reads up to so many bytes, and some more. True: the pipe has ended. Any error but EAGAIN counts as the
 * end: there is nothing more to get. */
static bool read_some(struct stream *s, size_t most)
{
    struct run_output *o = s->of;
    char *buf = loop_recv_buffer(o->params.loop);

    for (size_t total = 0; total < most;) {
        ssize_t n = read(s->fd, buf, LOOP_RECV_BYTES);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n == 0 || errno != EAGAIN;
        if (s == &o->streams[STREAM_CAPTURE])
            capture(o, buf, (size_t)n);
        else
            output_feed(&s->output, buf, (size_t)n, on_line, s);
        total += (size_t)n;
    }
    return false;
}

/* Does the program print much that nobody gets? */
static bool is_wasteful(const struct stream *s)
{
    if (s == &s->of->streams[STREAM_CAPTURE])
        return s->of->is_full;
    return s->output.dropped > WASTE_BYTES;
}

static void on_readable(uv_poll_t *poll, int status, int events);

static void on_pause_over(void *arg)
{
    struct run_output *o = arg;

    for (struct stream *s = o->streams; s < o->streams + STREAMS; s++) {
        if (s->fd < 0 || s->watching != PAUSED)
            continue;
        s->watching = WATCHED;
        uv_poll_start(&s->poll, UV_READABLE | UV_DISCONNECT, on_readable);
    }
}

/* A pause that another stream has begun serves both. */
static void pause_stream(struct stream *s)
{
    struct run_output *o = s->of;

    uv_poll_stop(&s->poll);
    s->watching = PAUSED;
    if (o->pause == NULL)
        o->pause = deadline_create(o->params.loop, on_pause_over, o);
    if (!deadline_pending(o->pause))
        deadline_start(o->pause, WASTE_PAUSE_MS);
}

/* The stream ends before the event, which may dispose everything. */
static void on_readable(uv_poll_t *poll, int status, int events)
{
    struct stream *s = container_of(poll, struct stream, poll);
    const struct run_output_params *p = &s->of->params;

    (void)status;
    (void)events;
    if (!read_some(s, is_wasteful(s) ? LOOP_RECV_BYTES : BYTES_AT_ONCE)) {
        if (is_wasteful(s))
            pause_stream(s);
        return;
    }
    end(s);
    if (s == &s->of->streams[STREAM_CAPTURE])
        p->on_captured(p->arg);
    else
        p->on_end(p->arg);
}

/* Reads the bytes that are in the pipe now. */
static void drain(struct stream *s)
{
    if (s->fd >= 0 && read_some(s, BYTES_AT_ONCE))
        end(s);
}

/* Begins a stream; *writer is the program's end of its pipe. */
static enum err_kind begin(struct stream *s, int *writer, struct err *err)
{
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) != 0)
        return err_set(err, ERR_IO, errno, "pipe: %s", strerror(errno));
    /* Only our end: programs expect a stdout that blocks. */
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    s->fd = ends[0];
    *writer = ends[1];
    return ERR_OK;
}

/* The program that follows writes to the same stderr pipe, so a copy of its end is kept: else the
 * pipe would end with the command. */
static enum err_kind begin_first(struct run_output *o, int fds[WIRE_RUN_FDS], struct err *err)
{
    bool captures = o->params.capture_max > 0;
    enum err_kind kind = begin(&o->streams[STREAM_STDERR], &fds[STDERR_FILENO], err);

    if (kind == ERR_OK)
        kind =
            begin(&o->streams[captures ? STREAM_CAPTURE : STREAM_STDOUT], &fds[STDOUT_FILENO], err);
    if (kind != ERR_OK || !captures)
        return kind;
    o->spare = fcntl(fds[STDERR_FILENO], F_DUPFD_CLOEXEC, 0);
    return o->spare >= 0 ? ERR_OK : err_set(err, ERR_IO, errno, "dup: %s", strerror(errno));
}

enum err_kind run_output_create(const struct run_output_params *params, int fds[WIRE_RUN_FDS],
                                struct run_output **out, struct err *err)
{
    struct run_output *o = MEM_NEW(struct run_output, .params = *params, .spare = -1);

    for (size_t i = 0; i < STREAMS; i++)
        o->streams[i] = (struct stream){.of = o, .fd = -1, .output.limit = params->log_limit};
    *out = o;
    enum err_kind kind = begin_first(o, fds, err);
    if (kind != ERR_OK)
        run_output_dispose(out);
    return kind;
}

/* Returns 0, or an error of libuv: the system is short of memory, or epoll may watch no more descriptors. */
static int watch(struct stream *s)
{
    int error = uv_poll_init(loop_uv(s->of->params.loop), &s->poll, s->fd);

    if (error != 0)
        return error;
    s->watching = WATCHED;
    s->of->handles++;
    return uv_poll_start(&s->poll, UV_READABLE | UV_DISCONNECT, on_readable);
}

static void tell_trouble(struct run_output *o, int error)
{
    if (o->trouble != 0)
        return;
    o->trouble = error;
    o->params.on_unwatched(o->params.arg, uv_strerror(error));
}

void run_output_watch(struct run_output *o)
{
    for (struct stream *s = o->streams; s < o->streams + STREAMS; s++) {
        int error = s->fd >= 0 && s->watching == UNWATCHED ? watch(s) : 0;

        if (error != 0)
            tell_trouble(o, error);
    }
}

bool run_output_drain(struct run_output *o)
{
    drain(&o->streams[STREAM_CAPTURE]);
    return o->streams[STREAM_CAPTURE].fd < 0;
}

bool run_output_is_full(const struct run_output *o)
{
    return o->is_full;
}

enum run_cut run_output_cut(const struct run_output *o)
{
    return o->lacks_memory ? RUN_CUT_MEMORY : RUN_CUT_FULL;
}

enum err_kind run_output_hand_on(struct run_output *o, struct digest *digest, int fds[WIRE_RUN_FDS],
                                 struct err *err)
{
    struct str bytes = buf_str(&o->captured);

    /* Handed over to the program: the caller closes it now. */
    fds[STDERR_FILENO] = o->spare;
    o->spare = -1;
    *digest = digest_of(bytes.p, bytes.n);
    enum err_kind kind = begin(&o->streams[STREAM_STDOUT], &fds[STDOUT_FILENO], err);
    if (kind == ERR_OK)
        kind = memfile_create("informerd-output", bytes, &fds[STDIN_FILENO], err);
    /* The memory file is a copy: up to 64 MiB need not stay twice. */
    end(&o->streams[STREAM_CAPTURE]);
    buf_free(&o->captured);
    return kind;
}

void run_output_finish(struct run_output *o, struct run_result *result)
{
    struct stream *out = &o->streams[STREAM_STDOUT];
    struct stream *err = &o->streams[STREAM_STDERR];

    end(&o->streams[STREAM_CAPTURE]);
    buf_free(&o->captured);
    if (o->spare >= 0)
        close(o->spare);
    o->spare = -1;
    drain(out);
    drain(err);
    result->out = output_tail(&out->output);
    result->err = output_tail(&err->output);
    result->dropped = out->output.dropped + err->output.dropped;
}

void run_output_take(struct run_output *o, struct buf *out)
{
    *out = o->captured;
    o->captured = (struct buf){0};
}

bool run_output_is_over(const struct run_output *o)
{
    return o->streams[STREAM_STDOUT].fd < 0 && o->streams[STREAM_STDERR].fd < 0;
}

void run_output_give_up(struct run_output *o)
{
    for (size_t i = 0; i < STREAMS; i++)
        end(&o->streams[i]);
    if (o->spare >= 0)
        close(o->spare);
    o->spare = -1;
}

void run_output_dispose(struct run_output **op)
{
    struct run_output *o = *op;

    if (o == NULL)
        return;
    *op = NULL;
    run_output_give_up(o);
    deadline_dispose(&o->pause);
    o->is_disposed = true;
    free_if_unused(o);
}
