/* SPDX-License-Identifier: Apache-2.0 */
#include "io/taken.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/mem.h"
#include "io/pipe_in.h"

struct taken {
    struct pipe_in *pipe;
    struct buf bytes;
    size_t max;
    bool full;
    const struct taken_events *events;
    void *arg;
};

static void on_data(void *arg, const char *data, size_t n)
{
    struct taken *t = arg;

    if (t->full)
        return;
    if (n <= t->max - t->bytes.len) {
        buf_append(&t->bytes, data, n);
        return;
    }
    t->full = true;
    buf_free(&t->bytes);
    t->events->on_full(t->arg);
}

static void on_eof(void *arg)
{
    const struct taken *t = arg;

    t->events->on_eof(t->arg);
}

enum err_kind taken_create(struct loop *loop, size_t max, const struct taken_events *events,
                           void *arg, struct taken **out, struct err *err)
{
    static const struct pipe_in_events pipe_events = {on_data, on_eof};
    struct taken *t = MEM_NEW(struct taken, .max = max, .events = events, .arg = arg);
    enum err_kind kind = pipe_in_create(loop, &pipe_events, t, &t->pipe, err);

    if (kind == ERR_OK)
        *out = t;
    else
        free(t);
    return kind;
}

int taken_take_writer(struct taken *t)
{
    return pipe_in_take_writer(t->pipe);
}

void taken_watch(struct taken *t)
{
    pipe_in_watch(t->pipe);
}

bool taken_drain(struct taken *t)
{
    return pipe_in_drain(t->pipe);
}

bool taken_is_full(const struct taken *t)
{
    return t->full;
}

struct str taken_bytes(const struct taken *t)
{
    return buf_str(&t->bytes);
}

void taken_dispose(struct taken **tp)
{
    struct taken *t = *tp;

    if (t == NULL)
        return;
    *tp = NULL;
    pipe_in_dispose(&t->pipe);
    buf_free(&t->bytes);
    free(t);
}
