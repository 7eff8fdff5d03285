/* SPDX-License-Identifier: Apache-2.0 */
/* Deliveries and the maps that hold them: hook/delivery.h, and of hook/delivery_queue.h the
 * functions that init and free a queue, and find and release its deliveries. */
#include "hook/delivery.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/panic.h"
#include "hook/delivery_queue.h"

void delivery_queue_init(struct delivery_queue *q, const struct filter *filter, size_t source_count,
                         bool keyed)
{
    *q = (struct delivery_queue){.filter = filter, .source_count = source_count, .keyed = keyed};
    q->sources = mem_array(source_count + 1, sizeof(*q->sources));
    list_init(&q->pending);
    list_init(&q->dirty);
}

/* The new reference is taken before the old one is dropped: both may be to the same object. */
void delivery_event_set(struct delivery_event *slot, const struct delivery_event *next)
{
    struct object *old = slot->object;

    *slot = *next;
    if (slot->object != NULL)
        slot->object = object_ref(slot->object);
    object_unref(&old);
}

struct delivery_ends *delivery_ends_of(struct delivery *dl)
{
    if (dl->ends == NULL)
        dl->ends = mem_zalloc(sizeof(*dl->ends));
    return dl->ends;
}

void delivery_ends_trim(struct delivery *dl)
{
    if (dl->ends != NULL && delivery_end(dl) == NULL && dl->state != DELIVERED_FOLLOWED)
        delivery_ends_drop(dl);
}

void delivery_ends_drop(struct delivery *dl)
{
    if (dl->ends == NULL)
        return;
    known_set(&dl->ends->successor, NULL);
    object_unref(&dl->ends->pending_delete.object);
    object_unref(&dl->ends->successor_delete.object);
    free(dl->ends);
    dl->ends = NULL;
}

void delivery_settled(struct delivery_queue *q, struct delivery *dl)
{
    if (dl->existing)
        q->existing_left--;
    dl->existing = dl->restored = false;
}

/* successor_delete is left out: the start of a run does not change it. */
struct delivery_snapshot delivery_snapshot_of(const struct delivery *dl)
{
    struct delivery_snapshot m = {.state = dl->state,
                                  .last_was_end = dl->last_was_end,
                                  .inherited = dl->inherited,
                                  .delivered_paths = mem_strdup(dl->delivered_paths)};

    known_copy(&m.handled, &dl->handled);
    known_copy(&m.delivered, &dl->delivered);
    if (dl->ends != NULL) {
        known_copy(&m.successor, &dl->ends->successor);
        delivery_event_set(&m.pending_delete, &dl->ends->pending_delete);
    }
    return m;
}

void delivery_snapshot_fini(struct delivery_snapshot *m)
{
    known_set(&m->handled, NULL);
    known_set(&m->delivered, NULL);
    known_set(&m->successor, NULL);
    object_unref(&m->pending_delete.object);
    free(m->delivered_paths);
    *m = (struct delivery_snapshot){0};
}

/* An object without bytes, made from all that is known: the key and the uid. The key of an outage
 * is empty, and so is the name then. */
static struct object *make_known(const struct delivery *dl, struct str uid)
{
    const char *slash = strchr(dl->key, '/');
    struct object_parts p = {.uid = uid, .rv_at = SIZE_MAX, .generation_at = SIZE_MAX};

    p.name = str_c(slash != NULL ? slash + 1 : dl->key);
    if (slash != NULL)
        p.ns = str_of(dl->key, (size_t)(slash - dl->key));
    return object_create(&p);
}

struct delivery_event delivery_event_over(const struct delivery_queue *q, const struct delivery *dl,
                                          const struct known *incarnation)
{
    bool outage = dl->key[0] == '\0';

    /* The time of this end is not known, so the event has that of the restore. An outage has no
     * state that could be unknown. */
    return (struct delivery_event){.type = outage ? DELTA_FRESH : DELTA_DELETED,
                                   .cause = CAUSE_RESTART,
                                   .object = incarnation->object != NULL
                                                 ? object_ref(incarnation->object)
                                                 : make_known(dl, known_uid(incarnation)),
                                   .final_state_unknown = !outage,
                                   .received_ns = q->restored_ns};
}

void delivery_touch(struct delivery_queue *q, struct delivery *dl)
{
    if (list_is_empty(&dl->dirty))
        list_append(&q->dirty, &dl->dirty);
}

void delivery_free(struct delivery_queue *q, struct delivery *dl)
{
    delivery_settled(q, dl);
    map_remove(&q->sources[dl->source].by_key, &dl->node);
    if (!list_is_empty(&dl->pending))
        q->pending_count--;
    list_remove(&dl->pending);
    list_remove(&dl->dirty);
    known_set(&dl->handled, NULL);
    known_set(&dl->delivered, NULL);
    object_unref(&dl->newest.object);
    delivery_ends_drop(dl);
    free(dl->kept[0]);
    free(dl->kept[1]);
    free(dl->delivered_paths);
    free(dl);
}

void delivery_queue_each(struct delivery_queue *q, size_t source,
                         void (*fn)(void *arg, struct delivery *dl), void *arg)
{
    for (struct map_node *n = map_first(&q->sources[source].by_key), *next; n != NULL; n = next) {
        /* Before fn, which may free this delivery. */
        next = map_next(n);
        fn(arg, map_entry(n, struct delivery, node));
    }
}

static void drop_delivery(void *arg, struct delivery *dl)
{
    delivery_free(arg, dl);
}

void delivery_queue_fini(struct delivery_queue *q)
{
    for (size_t i = 0; i < q->source_count; i++)
        delivery_queue_each(q, i, drop_delivery, q);
    free(q->sources);
    *q = (struct delivery_queue){0};
}

struct delivery *delivery_queue_find(const struct delivery_queue *q, size_t source, struct str key)
{
    ensure(source < q->source_count);
    struct map_node *node = map_get(&q->sources[source].by_key, key);

    return node != NULL ? map_entry(node, struct delivery, node) : NULL;
}

struct object **delivery_queue_sorted(const struct delivery_queue *q, size_t source, size_t *n)
{
    const struct map *keys = &q->sources[source].by_key;
    struct object **v = mem_array(map_count(keys) + 1, sizeof(struct object *));

    *n = 0;
    for (struct map_node *node = map_first(keys); node != NULL; node = map_next(node)) {
        const struct delivery_event *ev = &map_entry(node, struct delivery, node)->newest;

        /* An outage is no object, and a bare object has no bytes to show. */
        if (ev->object != NULL && ev->type != DELTA_STALE && !object_is_bare(ev->object))
            v[(*n)++] = ev->object;
    }
    qsort(v, *n, sizeof(struct object *), object_by_key);
    return v;
}

struct delivery *delivery_add(struct delivery_queue *q, size_t source, struct str key)
{
    struct delivery *dl = delivery_queue_find(q, source, key);

    if (dl != NULL)
        return dl;
    /* One block: the delivery with its key, and in mode object its work item. */
    size_t align = _Alignof(struct work_item);
    size_t size = (sizeof(*dl) + key.n + align) / align * align;
    dl = mem_zalloc(size + (q->keyed ? sizeof(*dl->work_item) : 0));
    memcpy(dl->key, key.p, key.n);
    dl->source = (uint32_t)source;
    list_init(&dl->pending);
    if (q->keyed) {
        dl->work_item = (void *)((char *)dl + size);
        dl->work_item->delivery = dl;
    }
    list_init(&dl->dirty);
    map_put(&q->sources[source].by_key, &dl->node, str_of(dl->key, key.n));
    return dl;
}

static bool same_uid(const struct known *a, const struct known *b)
{
    if (b->object != NULL)
        return known_has(a, b->object);
    return known_is(a) && known_is(b) && str_eq(known_uid(a), known_uid(b));
}

/* Was this incarnation there, and is not any more? */
static bool is_gone(const struct delivery *dl, const struct known *incarnation)
{
    const struct object *now = dl->newest.object;

    return known_is(incarnation) && (now == NULL || !known_has(incarnation, now));
}

/* Is the end of this incarnation there if and only if the incarnation is gone? sure: false as long
 * as an end may still be missing. */
static bool end_is_legal(const struct delivery *dl, const struct known *incarnation,
                         const struct delivery_event *end, bool sure)
{
    bool gone = is_gone(dl, incarnation);

    return end->object != NULL ? gone && known_has(incarnation, end->object) : !gone || !sure;
}

static bool ends_are_legal(const struct delivery *dl, bool sure)
{
    const struct delivery_ends *e = dl->ends;
    bool followed = dl->state == DELIVERED_FOLLOWED;

    if (e == NULL)
        return !followed && !(sure && is_gone(dl, &dl->delivered));
    if (followed != known_is(&e->successor) || same_uid(&dl->delivered, &e->successor))
        return false;
    if (e->pending_delete.object == NULL && (e->parked_at != 0 || !followed))
        return false;
    return end_is_legal(dl, &dl->delivered, &e->pending_delete, sure) &&
           end_is_legal(dl, &e->successor, &e->successor_delete, sure);
}

/* Are there the states of the object that go with dl->state? sure: false as long as the record of
 * the delivered incarnation may still come. */
static bool state_is_legal(const struct delivery *dl, bool sure)
{
    bool delivered = known_is(&dl->delivered);
    bool handled = known_is(&dl->handled);

    if ((handled && !same_uid(&dl->handled, &dl->delivered)) ||
        (dl->inherited && !delivered && sure))
        return false;
    switch (dl->state) {
    case DELIVERED_NOTHING:
        return !delivered && dl->delivered_paths == NULL;
    case DELIVERED_HANDLED:
    case DELIVERED_SKIPPED:
        return handled && dl->delivered_paths == NULL;
    case DELIVERED_REATTEMPTED:
        return handled;
    case DELIVERED_RENEWED:
        return delivered && !handled && dl->inherited && dl->delivered_paths == NULL;
    case DELIVERED_ATTEMPTED:
        return delivered && !handled;
    case DELIVERED_SUPERSEDED:
        return delivered && !handled && delivery_end(dl) != NULL && dl->last_was_end;
    case DELIVERED_FOLLOWED:
        return (delivered || !sure) && !handled;
    }
    return false;
}

/* The facts that depend on whether the source is open, and whether something is due. */
static bool due_is_legal(const struct delivery *dl, bool open)
{
    bool due = !list_is_empty(&dl->pending);

    if ((due && !open) || (dl->existing && !due))
        return false;
    return open ? dl->existing || !dl->restored : dl->restored || !dl->parked;
}

bool delivery_is_legal(const struct delivery_queue *q, const struct delivery *dl)
{
    /* Until a source is open, it is not known whether a restored incarnation still exists, and
     * another record of the key may come. */
    bool open = q->sources[dl->source].is_open;
    bool sure = open || !dl->restored;

    return dl->pins <= 2 && q->keyed == (dl->work_item != NULL) && due_is_legal(dl, open) &&
           state_is_legal(dl, sure) && ends_are_legal(dl, sure);
}

bool delivery_release(struct delivery_queue *q, struct delivery *dl)
{
    /* As long as records are kept, only this delivery knows of them: delivery_log_put() drops them
     * first (docs/decisions.md "A delivery is dirty, not its records"). */
    bool kept = dl->kept[0] != NULL || dl->kept[1] != NULL;

    if (dl->newest.object != NULL || known_is(&dl->delivered) || dl->pins > 0 || kept ||
        (q->keyed && dl->work_item->state != WORK_ITEM_IDLE))
        return false;
    delivery_free(q, dl);
    return true;
}
