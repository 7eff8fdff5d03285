/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/disk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/panic.h"

/* One change: of an object (of whichever scope), or of a resume point. */
struct op {
    struct disk_op base;
    struct disk *disk;
    size_t number;
    size_t at;             /* the key, or the scope */
    struct object *object; /* a reference; NULL = deleted, unless is_version */
    struct disk_version version;
    bool is_version;
};

struct batch {
    struct batch *next;
    uint64_t number;
    struct list ops;
};

static void free_ops(struct batch *b)
{
    list_each (pos, tmp, &b->ops) {
        struct disk_op *op = list_entry(pos, struct disk_op, link);

        list_remove(&op->link);
        op->free(op);
    }
}

/* Takes the oldest batch off the list; NULL = the list is empty. */
static struct batch *take_batch(struct disk *r)
{
    struct batch *b = r->first;

    if (b != NULL)
        r->first = b->next;
    return b;
}

static void free_batches(struct disk *r)
{
    for (struct batch *b; (b = take_batch(r)) != NULL; free(b))
        free_ops(b);
    r->in_turn = false;
    clock_clear(r->clock, &r->commit);
}

static void on_commit(struct alarm *a)
{
    disk_sync(container_of(a, struct disk, commit));
}

void disk_init(struct disk *r, struct clock *clock)
{
    *r = (struct disk){.clock = clock, .commit.fn = on_commit};
}

void disk_fini(struct disk *r)
{
    free_batches(r);
    for (size_t w = 0; w < WATCHES; w++)
        for (size_t key = 0; key < API_KEYS; key++)
            object_unref(&r->objects[w][key]);
}

void disk_put(struct disk *r, struct disk_op *op)
{
    if (!r->in_turn) {
        struct batch *b = MEM_NEW(struct batch, .number = ++r->begun);

        list_init(&b->ops);
        *(r->first == NULL ? &r->first : &r->newest->next) = b;
        r->newest = b;
        r->in_turn = true;
    }
    list_init(&op->link);
    list_append(&r->newest->ops, &op->link);
}

uint64_t disk_number(const struct disk *r)
{
    return r->in_turn ? r->begun : r->begun + 1;
}

static void write_op(struct disk_op *base)
{
    struct op *op = container_of(base, struct op, base);
    struct disk *r = op->disk;

    if (op->is_version) {
        r->versions[op->number][op->at] = op->version;
        return;
    }
    object_unref(&r->objects[op->number][op->at]);
    r->objects[op->number][op->at] = op->object;
    op->object = NULL;
}

static void free_op(struct disk_op *base)
{
    struct op *op = container_of(base, struct op, base);

    object_unref(&op->object);
    free(op);
}

static void put(struct disk *r, struct op with)
{
    struct op *op = MEM_NEW(struct op, .number = with.number);

    *op = with;
    op->base = (struct disk_op){.write = write_op, .free = free_op};
    op->disk = r;
    disk_put(r, &op->base);
}

void disk_kept(struct disk *r, size_t number, struct object *o, bool gone)
{
    put(r, (struct op){.number = number,
                       .at = api_find(object_key(o)),
                       .object = gone ? NULL : object_ref(o)});
}

struct skip_op {
    struct disk_op base;
    struct disk *disk;
    size_t number;
    struct disk_skip skip; /* times 0: the record is dropped */
};

static void write_skip(struct disk_op *base)
{
    const struct skip_op *op = container_of(base, struct skip_op, base);
    struct disk_skip *v = op->disk->skips[op->number];
    struct disk_skip *to = NULL;

    for (size_t i = DISK_SKIPS; i > 0; i--)
        if (v[i - 1].times == 0)
            to = &v[i - 1];
    for (size_t i = 0; i < DISK_SKIPS; i++)
        if (v[i].times > 0 && strcmp(v[i].id, op->skip.id) == 0)
            to = &v[i];
    ensure(to != NULL);
    *to = op->skip;
}

static void free_skip(struct disk_op *base)
{
    free(container_of(base, struct skip_op, base));
}

static void copy_text(char *to, struct str text)
{
    int n = snprintf(to, DISK_TEXT, "%.*s", STR_ARG(text));

    ensure(n >= 0 && n < DISK_TEXT);
}

void disk_skipped(struct disk *r, size_t number, const struct skip *s, bool gone)
{
    struct skip_op *op = MEM_NEW(struct skip_op, .disk = r, .number = number);

    op->base = (struct disk_op){.write = write_skip, .free = free_skip};
    op->skip.part = s->scope;
    op->skip.times = gone ? 0 : s->times;
    op->skip.missing = s->missing;
    copy_text(op->skip.id, s->id);
    copy_text(op->skip.name, s->name);
    copy_text(op->skip.why, s->why);
    disk_put(r, &op->base);
}

/* Brings the first n batches to disk. */
static void write_batches(struct disk *r, size_t n)
{
    for (struct batch *b; n > 0 && (b = take_batch(r)) != NULL; n--) {
        list_each (at, next, &b->ops) {
            struct disk_op *op = list_entry(at, struct disk_op, link);

            op->write(op);
        }
        r->written = b->number;
        free_ops(b);
        free(b);
    }
}

size_t disk_batches(const struct disk *r)
{
    size_t n = 0;

    for (const struct batch *b = r->first; b != NULL; b = b->next)
        n++;
    return n;
}

static bool same(const struct disk_version *a, const struct disk_version *b)
{
    return a->kept == b->kept && a->edited == b->edited && strcmp(a->rv, b->rv) == 0 &&
           strcmp(a->collection_rv, b->collection_rv) == 0;
}

static void put_version(struct disk *r, size_t number, size_t stream, const struct watch *w)
{
    struct disk_version v = {.kept = true};
    const char *rv;
    const char *collection_rv;

    if (!watch_version(w, stream, &rv, &collection_rv))
        return;
    snprintf(v.rv, sizeof(v.rv), "%s", rv);
    snprintf(v.collection_rv, sizeof(v.collection_rv), "%s", collection_rv);
    if (same(&v, &r->last[number][stream]))
        return;
    r->last[number][stream] = v;
    put(r, (struct op){.number = number, .at = stream, .version = v, .is_version = true});
}

void disk_edit(struct disk *r, size_t number, size_t stream, const struct watch *w)
{
    enum resume_kind left = watch_resume_left(w, stream);
    struct disk_version v = {.kept = true, .edited = left};

    if (left != RESUME_EDITED && left != RESUME_RESHAPED)
        return;
    r->last[number][stream] = v;
    put(r, (struct op){.number = number, .at = stream, .version = v, .is_version = true});
}

void disk_end_turn(struct disk *r, bool now)
{
    r->in_turn = false;
    if (now && !r->commit.set && r->first != NULL)
        clock_set(r->clock, &r->commit, clock_pick(r->clock, 0, 20));
}

void disk_turn(struct disk *r, size_t number, const struct watch *w)
{
    for (size_t i = 0; i < watch_scope_count(w); i++)
        put_version(r, number, i, w);
    r->in_turn = false;
    if (clock_percent(r->clock, 20))
        write_batches(r, disk_batches(r));
}

void disk_crash(struct disk *r)
{
    write_batches(r, clock_pick(r->clock, 0, disk_batches(r)));
    free_batches(r);
    memcpy(r->last, r->versions, sizeof(r->last));
}

void disk_sync(struct disk *r)
{
    r->in_turn = false;
    write_batches(r, SIZE_MAX);
    clock_clear(r->clock, &r->commit);
}

void disk_measure(const struct disk *r, size_t *rows, size_t *bytes)
{
    for (size_t w = 0; w < WATCHES; w++) {
        for (size_t key = 0; key < API_KEYS; key++) {
            *rows += r->objects[w][key] != NULL;
            *bytes += r->objects[w][key] != NULL ? object_bytes(r->objects[w][key]) : 0;
        }
        for (size_t i = 0; i < DISK_SKIPS; i++)
            *rows += r->skips[w][i].times > 0;
    }
}

bool disk_lose(struct disk *r, size_t number)
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

/* The kind of resume point that a scope has. With WHOLE its version may be known. */
static enum resume_kind kind_of(const struct disk_version *v, bool edited)
{
    if (!v->kept)
        return RESUME_NONE;
    if (edited || v->edited == RESUME_EDITED)
        return RESUME_EDITED;
    if (v->edited == RESUME_RESHAPED)
        return RESUME_RESHAPED;
    return v->lost ? RESUME_PARTIAL : RESUME_WHOLE;
}

void disk_load(struct disk *r, size_t number, struct watch *w, bool edited)
{
    for (size_t key = 0; key < API_KEYS; key++)
        if (r->objects[number][key] != NULL)
            watch_load(w, r->objects[number][key]);
    for (size_t i = 0; i < DISK_SKIPS; i++) {
        const struct disk_skip *v = &r->skips[number][i];

        if (v->times > 0)
            watch_load_skip(w, &(struct skip){.scope = v->part,
                                              .id = str_c(v->id),
                                              .name = str_c(v->name),
                                              .why = str_c(v->why),
                                              .missing = v->missing,
                                              .times = v->times});
    }
    for (size_t i = 0; i < watch_scope_count(w); i++) {
        const struct disk_version *v = &r->versions[number][i];

        watch_resume(w, i,
                     &(struct resume_point){.kind = kind_of(v, edited),
                                            .rv = v->rv,
                                            .collection_rv = v->collection_rv});
    }
}

bool disk_is_whole(const struct disk *r, size_t number, size_t stream, bool edited)
{
    const struct disk_version *v = &r->versions[number][stream];

    return kind_of(v, edited) == RESUME_WHOLE && v->rv[0] != '\0';
}

bool disk_know(struct watch *w, struct str key, struct str uid)
{
    const char *slash = memchr(key.p, '/', key.n);
    struct object_parts p = {.uid = uid, .rv_at = SIZE_MAX, .generation_at = SIZE_MAX};

    if (store_get(watch_store(w), key) != NULL)
        return false;
    ensure(slash != NULL);
    p.ns = str_of(key.p, (size_t)(slash - key.p));
    p.name = str_of(slash + 1, key.n - p.ns.n - 1);
    struct object *o = object_create(&p);
    size_t stream = watch_scope_of(w, o);
    enum resume_kind left = watch_resume_left(w, stream);
    bool loads = left != RESUME_WHOLE || skips_has(store_skips(watch_store(w)), key);
    if (loads)
        watch_load(w, o);
    if (left == RESUME_NONE)
        watch_resume(w, stream, &(struct resume_point){.kind = RESUME_PARTIAL});
    object_unref(&o);
    return loads;
}
