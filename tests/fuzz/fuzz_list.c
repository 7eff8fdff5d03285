/* SPDX-License-Identifier: Apache-2.0 */
/* The body of a LIST, whole and cut, without a shape and with one: the same items. Each object that comes
 * out is valid JSON, and reads as the same object again. The first byte chooses what is known of the
 * kind. */
#include "fuzz_cut.h"
#include "fuzz_shape.h"
#include "kube/list.h"

struct reading {
    const struct object_rules *rules;
    struct buf *out;
};

static void on_item(void *arg, struct object *o, bool selected)
{
    const struct reading *r = arg;

    ensure(object_kind(o).n > 0);
    buf_printf(r->out, "%d ", selected);
    fuzz_shape_put(r->out, o, r->rules->shape);
}

static void on_unusable(void *arg, const struct unusable *u)
{
    const struct reading *r = arg;

    buf_printf(r->out, "%s", u->why);
    buf_append_str(r->out, u->key);
    buf_append_str(r->out, u->name);
    buf_append_str(r->out, u->uid);
    buf_append_str(r->out, u->rv);
}

static void read_all(void *arg, struct fuzz_pieces *pieces, struct buf *seen)
{
    static const struct list_events events = {on_item, on_unusable};
    struct reading reading = {arg, seen};
    struct list_reader *r = list_reader_create(reading.rules, &events, &reading);
    enum err_kind kind = ERR_OK;
    struct list_page page;
    struct str piece;
    struct err err;

    while (kind == ERR_OK && fuzz_pieces_next(pieces, &piece))
        kind = list_reader_feed(r, piece.p, piece.n, &err);
    if (kind == ERR_OK)
        kind = list_reader_end(r, &page, &err);
    if (kind == ERR_OK)
        buf_printf(seen, "%.*s %.*s %zu %zu", STR_ARG(page.rv), STR_ARG(page.next), page.items,
                   page.skipped);
    /* A mistake in a string that does not end either is one of the two errors. */
    buf_puts(seen, kind == ERR_OK ? "taken" : "refused");
    list_reader_destroy(&r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct str in = str_of((const char *)data, n);
    struct shape *shape = fuzz_shape_make();
    unsigned known = fuzz_take_byte(&in);
    const char *kind = known % 2 == 0 ? "Pod" : NULL;
    const char *api_version = known % 4 == 0 ? "v1" : NULL;

    fuzz_cut_compare(in, read_all, &(struct object_rules){kind, NULL, 300, NULL, false});
    fuzz_cut_compare(in, read_all, &(struct object_rules){kind, api_version, 300, shape, true});
    shape_destroy(&shape);
    return 0;
}
