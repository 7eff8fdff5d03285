/* SPDX-License-Identifier: Apache-2.0 */
#include "io/line_reader.h"

#include <stdlib.h>

#include "base/mem.h"
#include "io/pipe_in.h"

/* A pipe whose bytes hook/output cuts into lines. */
struct line_reader {
    struct pipe_in *pipe;
    struct output output;
    const struct line_reader_events *events;
    void *arg;
};

static void on_data(void *arg, const char *data, size_t n)
{
    struct line_reader *c = arg;

    output_feed(&c->output, data, n, c->events->on_line, c->arg);
}

static void on_eof(void *arg)
{
    const struct line_reader *c = arg;

    c->events->on_eof(c->arg);
}

enum err_kind line_reader_create(struct loop *loop, uint64_t limit,
                                 const struct line_reader_events *events, void *arg,
                                 struct line_reader **out, struct err *err)
{
    static const struct pipe_in_events pipe_events = {on_data, on_eof};
    struct line_reader *c =
        MEM_NEW(struct line_reader, .output.limit = limit, .events = events, .arg = arg);
    enum err_kind kind = pipe_in_create(loop, &pipe_events, c, &c->pipe, err);

    if (kind == ERR_OK)
        *out = c;
    else
        free(c);
    return kind;
}

int line_reader_take_writer(struct line_reader *c)
{
    return pipe_in_take_writer(c->pipe);
}

void line_reader_watch(struct line_reader *c)
{
    pipe_in_watch(c->pipe);
}

bool line_reader_drain(struct line_reader *c)
{
    return pipe_in_drain(c->pipe);
}

struct str line_reader_tail(const struct line_reader *c)
{
    return output_tail(&c->output);
}

uint64_t line_reader_dropped(const struct line_reader *c)
{
    return c->output.dropped;
}

uint64_t line_reader_dispose(struct line_reader **cp)
{
    struct line_reader *c = *cp;

    if (c == NULL)
        return 0;
    *cp = NULL;
    /* The last line may lack its newline: it is handed out while events still may be used. */
    output_end(&c->output, c->events->on_line, c->arg);
    uint64_t dropped = c->output.dropped;
    pipe_in_dispose(&c->pipe);
    free(c);
    return dropped;
}
