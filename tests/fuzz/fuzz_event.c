/* SPDX-License-Identifier: Apache-2.0 */
/* The first byte is the size of the pieces: events must not depend on it. Each object that comes
 * out is valid JSON. */
#include "fuzz_shape.h"
#include "kube/event.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void put(struct buf *out, const struct event *e)
{
    buf_printf(out, "%d %d %d %.*s ", (int)e->type, e->initial_events_end, e->selected,
               STR_ARG(e->rv));
    if (e->object != NULL) {
        ensure(object_name(e->object).n > 0);
        fuzz_shape_put(out, e->object);
    }
    if (e->status != NULL)
        buf_printf(out, "%d %s %s", e->status->code, e->status->reason, e->status->message);
    if (e->why != NULL)
        buf_puts(out, e->why);
}

static bool read_all(struct str text, const struct shape *shape, size_t piece, struct buf *seen)
{
    const struct object_rules rules = {"Pod", "v1", 300, shape, shape != NULL};
    struct event_reader *r = event_reader_create(&rules);
    enum err_kind kind = ERR_OK;
    const struct event *e;
    struct err err;

    for (size_t i = 0; kind == ERR_OK && i < text.n; i += piece) {
        kind = event_reader_feed(r, text.p + i, piece < text.n - i ? piece : text.n - i, &err);
        while ((e = event_reader_next(r)) != NULL)
            put(seen, e);
    }
    event_reader_destroy(&r);
    return kind == ERR_OK;
}

static void compare(struct str text, const struct shape *shape, size_t piece)
{
    struct buf whole = {0};
    struct buf pieces = {0};

    bool ok = read_all(text, shape, text.n, &whole);
    ensure(ok == read_all(text, shape, piece, &pieces) ||
           !ok); /* the reader may report an error later */
    ensure(str_eq(buf_str(&whole), buf_str(&pieces)));
    buf_free(&whole);
    buf_free(&pieces);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct shape *shape = fuzz_shape_make();

    if (n > 1 && data[0] > 0) {
        compare(str_of((const char *)data + 1, n - 1), NULL, data[0]);
        compare(str_of((const char *)data + 1, n - 1), shape, data[0]);
    }
    shape_destroy(&shape);
    return 0;
}
