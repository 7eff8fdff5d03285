/* SPDX-License-Identifier: Apache-2.0 */
#include "io/capture.h"

#include <stdlib.h>

#include "base/mem.h"
#include "io/pipe_in.h"

struct capture {
    struct pipe_in *pipe;
    struct output output;
    const struct capture_events *events;
    void *arg;
};

static void on_data(void *arg, const char *data, size_t n)
{
    struct capture *c = arg;

    output_feed(&c->output, data, n, c->events->on_line, c->arg);
}

static void on_eof(void *arg)
{
    const struct capture *c = arg;

    c->events->on_eof(c->arg);
}

enum err_kind capture_create(struct loop *loop, uint64_t limit, const struct capture_events *events,
                             void *arg, struct capture **out, struct err *err)
{
    static const struct pipe_in_events pipe_events = {on_data, on_eof};
    struct capture *c =
        MEM_NEW(struct capture, .output.limit = limit, .events = events, .arg = arg);
    enum err_kind kind = pipe_in_create(loop, &pipe_events, c, &c->pipe, err);

    if (kind == ERR_OK)
        *out = c;
    else
        free(c);
    return kind;
}

int capture_take_writer(struct capture *c)
{
    return pipe_in_take_writer(c->pipe);
}

void capture_watch(struct capture *c)
{
    pipe_in_watch(c->pipe);
}

bool capture_drain(struct capture *c)
{
    return pipe_in_drain(c->pipe);
}

struct str capture_tail(const struct capture *c)
{
    return output_tail(&c->output);
}

uint64_t capture_dropped(const struct capture *c)
{
    return c->output.dropped;
}

uint64_t capture_dispose(struct capture **cp)
{
    struct capture *c = *cp;

    if (c == NULL)
        return 0;
    *cp = NULL;
    output_end(&c->output, c->events->on_line, c->arg);
    uint64_t dropped = c->output.dropped;
    pipe_in_dispose(&c->pipe);
    free(c);
    return dropped;
}
