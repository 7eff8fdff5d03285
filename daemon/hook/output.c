/* SPDX-License-Identifier: Apache-2.0 */
#include "hook/output.h"

#include <string.h>

static void flush(struct output *o, output_cb *cb, void *arg)
{
    cb(arg, buf_str(&o->line));
    buf_clear(&o->line);
}

/* Cuts bytes into lines. A line of just OUTPUT_LINE_BYTES waits for the next byte: a newline
 * ends it, any other byte begins another line. Otherwise the newline would be an empty line of
 * its own. */
static void take(struct output *o, const char *data, size_t n, output_cb *cb, void *arg)
{
    while (n > 0) {
        const char *newline = memchr(data, '\n', n);
        size_t len = newline != NULL ? (size_t)(newline - data) : n;
        size_t room = OUTPUT_LINE_BYTES - o->line.len;
        size_t part = len < room ? len : room;

        buf_append(&o->line, data, part);
        if (part < len) {
            flush(o, cb, arg);
        } else if (newline != NULL) {
            flush(o, cb, arg);
            part++;
        }
        data += part;
        n -= part;
    }
}

/* Keeps the last bytes. The buffer may hold twice as many as needed, so that they are moved only
 * once for each OUTPUT_TAIL_BYTES. */
static void keep(struct output *o, const char *data, size_t n)
{
    size_t part = n < OUTPUT_TAIL_BYTES ? n : OUTPUT_TAIL_BYTES;

    buf_append(&o->tail, data + n - part, part);
    if (o->tail.len > 2 * OUTPUT_TAIL_BYTES)
        buf_consume(&o->tail, o->tail.len - OUTPUT_TAIL_BYTES);
}

struct str output_tail(const struct output *o)
{
    size_t n = o->tail.len < OUTPUT_TAIL_BYTES ? o->tail.len : OUTPUT_TAIL_BYTES;

    return str_of(o->tail.data + o->tail.len - n, n);
}

void output_feed(struct output *o, const char *data, size_t n, output_cb *cb, void *arg)
{
    /* The tail is kept whatever the limit says
     * (docs/decisions.md "The end of the output is kept, whatever log_limit cuts off"). */
    keep(o, data, n);
    uint64_t room = o->limit - o->taken;
    size_t part = n < room ? n : (size_t)room;

    take(o, data, part, cb, arg);
    o->taken += part;
    o->dropped += n - part;
}

void output_end(struct output *o, output_cb *cb, void *arg)
{
    if (o->line.len > 0)
        flush(o, cb, arg);
}

void output_free(struct output *o)
{
    buf_free(&o->line);
    buf_free(&o->tail);
}
