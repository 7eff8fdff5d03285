/* SPDX-License-Identifier: Apache-2.0 */
#include "io/output_capture.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/mem.h"
#include "io/pipe_in.h"

struct output_capture {
    struct pipe_in *pipe;
    struct buf bytes;
    size_t max; /* bytes */
    bool full;  /* more than max came: nothing is kept any more */
    const struct output_capture_events *events;
    void *arg;
};

static void on_data(void *arg, const char *data, size_t n)
{
    struct output_capture *t = arg;

    if (t->full)
        return;
    if (n <= t->max - t->bytes.len) {
        buf_append(&t->bytes, data, n);
        return;
    }
    /* Half of the output is of no use: the memory is given back at once. */
    t->full = true;
    buf_free(&t->bytes);
    t->events->on_full(t->arg);
}

static void on_eof(void *arg)
{
    const struct output_capture *t = arg;

    t->events->on_eof(t->arg);
}

enum err_kind output_capture_create(struct loop *loop, size_t max,
                                    const struct output_capture_events *events, void *arg,
                                    struct output_capture **out, struct err *err)
{
    static const struct pipe_in_events pipe_events = {on_data, on_eof};
    struct output_capture *t =
        MEM_NEW(struct output_capture, .max = max, .events = events, .arg = arg);
    enum err_kind kind = pipe_in_create(loop, &pipe_events, t, &t->pipe, err);

    if (kind == ERR_OK)
        *out = t;
    else
        free(t);
    return kind;
}

int output_capture_take_writer(struct output_capture *t)
{
    return pipe_in_take_writer(t->pipe);
}

void output_capture_watch(struct output_capture *t)
{
    pipe_in_watch(t->pipe);
}

bool output_capture_drain(struct output_capture *t)
{
    return pipe_in_drain(t->pipe);
}

bool output_capture_is_full(const struct output_capture *t)
{
    return t->full;
}

struct str output_capture_bytes(const struct output_capture *t)
{
    return buf_str(&t->bytes);
}

void output_capture_dispose(struct output_capture **tp)
{
    struct output_capture *t = *tp;

    if (t == NULL)
        return;
    *tp = NULL;
    pipe_in_dispose(&t->pipe);
    buf_free(&t->bytes);
    free(t);
}
