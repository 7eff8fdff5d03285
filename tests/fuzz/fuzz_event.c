/* SPDX-License-Identifier: Apache-2.0 */
/* The body of a watch, whole and cut, without a shape and with one: the same events. Each object that comes
 * out is valid JSON, and reads as the same object again. */
#include "fuzz_cut.h"
#include "fuzz_shape.h"
#include "kube/event.h"

struct reading {
    const struct shape *shape;
    struct buf *out;
};

static void put(const struct reading *r, const struct event *e)
{
    struct buf *out = r->out;

    buf_printf(out, "%d %d %d %.*s ", (int)e->type, e->initial_events_end, e->selected,
               STR_ARG(e->rv));
    if (e->object != NULL) {
        ensure(object_name(e->object).n > 0);
        fuzz_shape_put(out, e->object, r->shape);
    }
    if (e->status != NULL)
        buf_printf(out, "%d %s %s", e->status->code, e->status->reason, e->status->message);
    if (e->why != NULL)
        buf_puts(out, e->why);
}

static void read_all(void *arg, struct fuzz_pieces *pieces, struct buf *seen)
{
    const struct reading reading = {arg, seen};
    const struct object_rules rules = {"Pod", "v1", 300, arg, arg != NULL};
    struct event_reader *r = event_reader_create(&rules);
    enum err_kind kind = ERR_OK;
    const struct event *e;
    struct str piece;
    struct err err;

    while (kind == ERR_OK && fuzz_pieces_next(pieces, &piece)) {
        kind = event_reader_feed(r, piece.p, piece.n, &err);
        while ((e = event_reader_next(r)) != NULL)
            put(&reading, e);
    }
    /* A mistake in a string that comes in pieces is found at its end at the latest. The first quote may be
     * escaped. */
    if (kind == ERR_OK)
        kind = event_reader_feed(r, "\"\"", 2, &err);
    event_reader_destroy(&r);
    buf_printf(seen, "%d", (int)kind);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct shape *shape = fuzz_shape_make();

    fuzz_cut_compare(str_of((const char *)data, n), read_all, NULL);
    fuzz_cut_compare(str_of((const char *)data, n), read_all, shape);
    shape_destroy(&shape);
    return 0;
}
