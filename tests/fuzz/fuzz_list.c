/* SPDX-License-Identifier: Apache-2.0 */
/* The first byte is the size of the pieces: items must not depend on it. Each object that comes out
 * is valid JSON. */
#include "fuzz_shape.h"
#include "kube/list.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void on_item(void *arg, struct object *o, bool selected)
{
    ensure(object_kind(o).n > 0);
    buf_printf(arg, "%d ", selected);
    fuzz_shape_put(arg, o);
}

static void on_unusable(void *arg, const struct unusable *u)
{
    buf_printf(arg, "%s", u->why);
    buf_append_str(arg, u->key);
    buf_append_str(arg, u->name);
    buf_append_str(arg, u->uid);
    buf_append_str(arg, u->rv);
}

static bool read_all(struct str text, const struct object_rules *rules, size_t piece,
                     struct buf *seen)
{
    static const struct list_events events = {on_item, on_unusable};
    struct list_reader *r = list_reader_create(rules, &events, seen);
    enum err_kind kind = ERR_OK;
    struct list_page page;
    struct err err;

    for (size_t i = 0; kind == ERR_OK && i < text.n; i += piece)
        kind = list_reader_feed(r, text.p + i, piece < text.n - i ? piece : text.n - i, &err);
    if (kind == ERR_OK)
        kind = list_reader_end(r, &page, &err);
    if (kind == ERR_OK)
        buf_printf(seen, "%.*s %.*s %zu %zu", STR_ARG(page.rv), STR_ARG(page.next), page.items,
                   page.skipped);
    list_reader_destroy(&r);
    return kind == ERR_OK;
}

static void compare(struct str text, const struct object_rules *rules, size_t piece)
{
    struct buf whole = {0};
    struct buf pieces = {0};

    bool ok = read_all(text, rules, text.n, &whole);
    ensure(ok == read_all(text, rules, piece, &pieces));
    ensure(str_eq(buf_str(&whole), buf_str(&pieces)));
    buf_free(&whole);
    buf_free(&pieces);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct shape *shape = fuzz_shape_make();

    if (n > 1 && data[0] > 0) {
        struct str text = str_of((const char *)data + 1, n - 1);
        const char *kind = data[0] % 2 == 0 ? "Pod" : NULL;
        const char *api_version = data[0] % 4 == 0 ? "v1" : NULL;

        compare(text, &(struct object_rules){kind, NULL, 300, NULL, false}, data[0]);
        compare(text, &(struct object_rules){kind, api_version, 300, shape, true}, data[0]);
    }
    shape_destroy(&shape);
    return 0;
}
