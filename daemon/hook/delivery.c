/* SPDX-License-Identifier: Apache-2.0 */
#include "hook/delivery.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "hook/delivery_queue.h"

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
                                  .existing = dl->existing,
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
