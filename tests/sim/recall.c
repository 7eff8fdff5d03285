/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/recall.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/panic.h"

/* One change: of an object (its stream counts for nothing here), or of a version. */
struct op {
    struct list link;
    size_t number;
    size_t at;             /* the key, or the stream */
    struct object *object; /* a reference; NULL = gone, unless there is a version */
    struct recall_version version;
    bool is_version;
};

struct batch {
    struct list link;
    struct list ops;
};

void recall_init(struct recall *r, struct clock *clock)
{
    *r = (struct recall){.clock = clock};
    list_init(&r->batches);
}

static void free_op(struct op *op)
{
    list_remove(&op->link);
    object_unref(&op->object);
    free(op);
}

static void free_batch(struct batch *b)
{
    list_each (pos, tmp, &b->ops)
        free_op(list_entry(pos, struct op, link));
    list_remove(&b->link);
    free(b);
}

static void free_batches(struct recall *r)
{
    list_each (pos, tmp, &r->batches)
        free_batch(list_entry(pos, struct batch, link));
    r->in_turn = false;
}

void recall_fini(struct recall *r)
{
    free_batches(r);
    for (size_t w = 0; w < WATCHES; w++)
        for (size_t key = 0; key < API_KEYS; key++)
            object_unref(&r->objects[w][key]);
}

static void put(struct recall *r, struct op with)
{
    struct op *op = MEM_NEW(struct op, .number = with.number);

    if (!r->in_turn) {
        struct batch *b = MEM_NEW(struct batch, .ops = {0});

        list_init(&b->ops);
        list_append(&r->batches, &b->link);
        r->in_turn = true;
    }
    *op = with;
    list_init(&op->link);
    list_append(&list_entry(r->batches.prev, struct batch, link)->ops, &op->link);
}

void recall_kept(struct recall *r, size_t number, struct object *o, bool gone)
{
    put(r, (struct op){.number = number,
                       .at = api_find(object_key(o)),
                       .object = gone ? NULL : object_ref(o)});
}

static void write_op(struct recall *r, struct op *op)
{
    if (op->is_version) {
        r->versions[op->number][op->at] = op->version;
        return;
    }
    object_unref(&r->objects[op->number][op->at]);
    r->objects[op->number][op->at] = op->object;
    op->object = NULL;
}

/* Brings the first n batches to disk. */
static void write_batches(struct recall *r, size_t n)
{
    list_each (pos, tmp, &r->batches) {
        struct batch *b = list_entry(pos, struct batch, link);

        if (n-- == 0)
            return;
        list_each (at, next, &b->ops)
            write_op(r, list_entry(at, struct op, link));
        free_batch(b);
    }
}

static size_t count(const struct recall *r)
{
    size_t n = 0;

    list_each (pos, tmp, &r->batches)
        n++;
    return n;
}

static bool same(const struct recall_version *a, const struct recall_version *b)
{
    return a->kept == b->kept && strcmp(a->rv, b->rv) == 0 && strcmp(a->mark, b->mark) == 0;
}

static void put_version(struct recall *r, size_t number, size_t stream, const struct watch *w)
{
    struct recall_version v = {.kept = true};
    const char *rv;
    const char *mark;

    if (!watch_version(w, stream, &rv, &mark))
        return;
    snprintf(v.rv, sizeof(v.rv), "%s", rv);
    snprintf(v.mark, sizeof(v.mark), "%s", mark);
    if (same(&v, &r->last[number][stream]))
        return;
    r->last[number][stream] = v;
    put(r, (struct op){.number = number, .at = stream, .version = v, .is_version = true});
}

void recall_turn(struct recall *r, size_t number, const struct watch *w)
{
    for (size_t i = 0; i < watch_stream_count(w); i++)
        put_version(r, number, i, w);
    r->in_turn = false;
    if (clock_percent(r->clock, 20))
        write_batches(r, count(r));
}

void recall_crash(struct recall *r)
{
    write_batches(r, clock_pick(r->clock, 0, count(r)));
    free_batches(r);
    memcpy(r->last, r->versions, sizeof(r->last));
}

void recall_stop(struct recall *r)
{
    write_batches(r, SIZE_MAX);
}

bool recall_lose(struct recall *r, size_t number)
{
    size_t first = clock_pick(r->clock, 0, API_KEYS - 1);
    size_t key = first;

    while (r->objects[number][key] == NULL) {
        key = (key + 1) % API_KEYS;
        if (key == first)
            return false;
    }
    object_unref(&r->objects[number][key]);
    for (size_t i = 0; i < API_SPACES; i++) {
        r->versions[number][i].rv[0] = '\0';
        r->versions[number][i].lost = true;
        r->last[number][i] = r->versions[number][i];
    }
    return true;
}

/* WHOLE: its version may be known. */
static enum past_kind kind_of(const struct recall_version *v, bool edited)
{
    if (!v->kept)
        return PAST_NONE;
    if (edited)
        return PAST_EDITED;
    return v->lost ? PAST_PARTIAL : PAST_WHOLE;
}

void recall_load(struct recall *r, size_t number, struct watch *w, bool edited)
{
    for (size_t key = 0; key < API_KEYS; key++)
        if (r->objects[number][key] != NULL)
            watch_load(w, r->objects[number][key]);
    for (size_t i = 0; i < watch_stream_count(w); i++) {
        const struct recall_version *v = &r->versions[number][i];

        watch_resume(w, i,
                     &(struct past){.kind = kind_of(v, edited), .rv = v->rv, .mark = v->mark});
    }
}
