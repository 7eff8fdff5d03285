/* SPDX-License-Identifier: Apache-2.0 */
/* Entries of keep, drop and match, a line each in a part of its own, and an object. Entries are taken or refused
 * with a text. The object is cut the same way however its bytes come, reads as the same object again, and
 * match selects it whether or not keep and drop cut it. */
#include "fuzz_shape.h"
#include "fuzz_cut.h"

enum { ENTRIES = 8 };

/* The lines of a part. */
struct entries {
    char *lines[ENTRIES];
    const char *v[ENTRIES];
    size_t n;
};

static void take_entries(struct str *in, struct entries *e)
{
    struct str part = fuzz_take_part(in);

    *e = (struct entries){.n = 0};
    while (part.n > 0 && e->n < ENTRIES) {
        const char *end = memchr(part.p, '\n', part.n);
        size_t n = end != NULL ? (size_t)(end - part.p) : part.n;
        size_t taken = n + (end != NULL ? 1 : 0);

        e->v[e->n] = e->lines[e->n] = mem_strndup(part.p, n);
        e->n++;
        part = str_of(part.p + taken, part.n - taken);
    }
}

static void free_entries(struct entries *e)
{
    for (size_t i = 0; i < e->n; i++)
        free(e->lines[i]);
}

static bool all_taken(const struct entries *e, enum err_kind (*check)(const char *, struct err *))
{
    bool all = true;

    for (size_t i = 0; i < e->n; i++) {
        struct err err = {0};

        if (check(e->v[i], &err) == ERR_OK)
            continue;
        ensure(err.kind == ERR_CONFIG && err.text[0] != '\0');
        all = false;
    }
    return all;
}

struct reading {
    const struct shape *shape;
    bool *selected; /* of the last object; NULL = nobody asks */
};

static void read_all(void *arg, struct fuzz_pieces *pieces, struct buf *seen)
{
    const struct reading *reading = arg;
    const struct object_rules rules = {NULL, NULL, 1 << 16, reading->shape, false};
    struct event_reader *r = event_reader_create(&rules);
    enum err_kind kind = event_reader_feed(r, "{\"type\":\"ADDED\",\"object\":", 24, NULL);
    const struct event *e;
    struct str piece;

    while (kind == ERR_OK && fuzz_pieces_next(pieces, &piece))
        kind = event_reader_feed(r, piece.p, piece.n, NULL);
    /* A mistake in a string that comes in pieces is found at its end at the latest. */
    if (kind == ERR_OK)
        kind = event_reader_feed(r, "}\"", 2, NULL);
    while ((e = event_reader_next(r)) != NULL) {
        buf_printf(seen, "%d %d ", (int)e->type, e->selected);
        if (e->object == NULL)
            continue;
        fuzz_shape_put(seen, e->object, reading->shape);
        if (reading->selected != NULL)
            *reading->selected = e->selected;
    }
    buf_printf(seen, "%d", (int)kind);
    event_reader_destroy(&r);
}

static void compare(struct str in, const struct shape_params *params)
{
    const struct shape_params match_only = {NULL, 0, NULL, 0, params->match, params->match_count,
                                            NULL};
    struct shape *shape;
    struct shape *looks;
    bool selected = false;
    bool wanted = false;

    ensure(shape_create(params, &shape, NULL) == ERR_OK);
    ensure(shape_create(&match_only, &looks, NULL) == ERR_OK);
    fuzz_cut_compare(in, read_all, &(struct reading){shape, &selected});
    fuzz_cut_compare(in, read_all, &(struct reading){looks, &wanted});
    ensure(selected == wanted);
    shape_destroy(&shape);
    shape_destroy(&looks);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct str in = str_of((const char *)data, n);
    struct entries keep;
    struct entries drop;
    struct entries match;

    take_entries(&in, &keep);
    take_entries(&in, &drop);
    take_entries(&in, &match);
    const struct shape_params params = {keep.v, keep.n, drop.v, drop.n, match.v, match.n, "a=b"};
    bool taken = all_taken(&keep, shape_check_path) && all_taken(&drop, shape_check_path) &&
                 all_taken(&match, shape_check_match);
    struct shape *shape = NULL;
    ensure((shape_create(&params, &shape, NULL) == ERR_OK) == taken);
    shape_destroy(&shape);
    if (taken)
        compare(in, &params);
    free_entries(&keep);
    free_entries(&drop);
    free_entries(&match);
    return 0;
}
