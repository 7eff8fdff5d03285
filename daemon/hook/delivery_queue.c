/* SPDX-License-Identifier: Apache-2.0 */
#include "hook/delivery_queue.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/meter.h"
#include "base/panic.h"

/* ---- The deliveries of a hook */

void delivery_queue_init(struct delivery_queue *q, const struct filter *filter, size_t source_count,
                         bool keyed)
{
    *q = (struct delivery_queue){.filter = filter, .source_count = source_count, .keyed = keyed};
    q->sources = mem_array(source_count + 1, sizeof(*q->sources));
    list_init(&q->pending);
    list_init(&q->dirty);
}

struct delivery *delivery_queue_find(const struct delivery_queue *q, size_t source, struct str key)
{
    ensure(source < q->source_count);
    struct map_node *node = map_get(&q->sources[source].by_key, key);

    return node != NULL ? map_entry(node, struct delivery, node) : NULL;
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

/* The uid of its incarnation, as the records on disk know it, is a block of its own. */
enum { UID_BYTES = 48 };

/* As the meter counts a delivery. */
static size_t bytes_of(const struct delivery_queue *q, size_t key_n)
{
    return sizeof(struct delivery) + key_n + (q->keyed ? sizeof(struct work_item) : 0) + UID_BYTES +
           2 * METER_BLOCK + METER_SLOT;
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
    meter_add(bytes_of(q, key.n));
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

/* Frees it, even if something is due or runs point to it. */
static void free_delivery(struct delivery_queue *q, struct delivery *dl)
{
    delivery_settled(q, dl);
    meter_sub(bytes_of(q, map_key(&dl->node).n));
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

static void drop_delivery(void *arg, struct delivery *dl)
{
    free_delivery(arg, dl);
}

void delivery_queue_fini(struct delivery_queue *q)
{
    for (size_t i = 0; i < q->source_count; i++)
        delivery_queue_each(q, i, drop_delivery, q);
    free(q->sources);
    *q = (struct delivery_queue){0};
}

bool delivery_release(struct delivery_queue *q, struct delivery *dl)
{
    /* As long as records are kept, only this delivery knows of them: delivery_log_put() drops them
     * first (docs/decisions.md "A delivery is dirty, not its records"). */
    bool kept = dl->kept[0] != NULL || dl->kept[1] != NULL;

    if (dl->newest.object != NULL || known_is(&dl->delivered) || dl->pins > 0 || kept ||
        (q->keyed && dl->work_item->state != WORK_ITEM_IDLE))
        return false;
    free_delivery(q, dl);
    return true;
}

/* ---- Incarnations and events */

static const struct delivery_event no_event;

bool delivery_is_end(enum delta_type type)
{
    return type == DELTA_DELETED || type == DELTA_LEFT || type == DELTA_FRESH;
}

static bool same_incarnation(const struct object *a, const struct object *b)
{
    return str_eq(object_uid(a), object_uid(b));
}

/* Has an incarnation ended that the hook got: is there no object any more, or one with another
 * uid? */
static bool is_dead(const struct delivery *dl, const struct known *incarnation)
{
    return known_is(incarnation) &&
           (dl->newest.object == NULL || !known_has(incarnation, dl->newest.object));
}

static bool delivered_is_dead(const struct delivery *dl)
{
    return is_dead(dl, &dl->delivered);
}

static bool successor_is_dead(const struct delivery *dl)
{
    return dl->state == DELIVERED_FOLLOWED && is_dead(dl, &dl->ends->successor);
}

/* Is o a state of the successor? */
static bool successor_has(const struct delivery *dl, const struct object *o)
{
    return dl->state == DELIVERED_FOLLOWED && known_has(&dl->ends->successor, o);
}

/* Is there a state that can be delivered? Of an object that an earlier process has left perhaps
 * only key and uid are known until a list brings it: then it is not deleted, and there is nothing
 * to deliver either. */
static bool has_state(const struct delivery *dl)
{
    const struct delivery_event *ev = &dl->newest;

    return ev->object != NULL && (ev->type == DELTA_STALE || !object_is_bare(ev->object));
}

/* The event's type follows from the state that the hook knows, not from the change that brought the new
 * one: an ADDED and a MODIFIED that merge are ADDED. STALE has no content that could be modified. */
static struct delivery_event event_as(enum delta_type type, const struct delivery_event *newest)
{
    struct delivery_event ev = *newest;

    if (ev.type != DELTA_STALE)
        ev.type = type;
    return ev;
}

/* The type with which an unchanged object is delivered again
 * (docs/decisions.md "A rerun delivers an unchanged object as MODIFIED"). */
static enum delta_type repeat_type(const struct delivery_queue *q)
{
    return filter_takes(q->filter, DELTA_MODIFIED) ? DELTA_MODIFIED : DELTA_ADDED;
}

/* The type with which an incarnation is delivered for which no run has succeeded. A hook without ADDED
 * accepts an incarnation when it first sees it. If the incarnation is not handled any more, a run with
 * its end has failed, and the object is back: that run and those before it may have had effects, so the
 * hook gets the object as MODIFIED. */
static enum delta_type first_type(const struct delivery_queue *q, const struct delivery *dl)
{
    bool tried = delivery_is_attempted(dl) && known_has(&dl->delivered, dl->newest.object);

    return tried && !filter_takes(q->filter, DELTA_ADDED) ? repeat_type(q) : DELTA_ADDED;
}

/* The table of ARCHITECTURE.md "What is due for a key": the end of the delivered incarnation, the
 * end of its successor, then the newest state. */
size_t delivery_events(const struct delivery_queue *q, const struct delivery *dl,
                       struct delivery_event out[2])
{
    struct object *now = dl->newest.object;
    size_t n = 0;

    /* A superseded end is due again when the incarnation that superseded it is gone. */
    if (delivered_is_dead(dl) && (dl->state != DELIVERED_SUPERSEDED || now == NULL)) {
        ensure(delivery_end(dl) != NULL);
        out[n++] = *delivery_end(dl);
    }
    if (successor_is_dead(dl)) {
        ensure(dl->ends->successor_delete.object != NULL);
        out[n++] = dl->ends->successor_delete;
    }
    /* A key has at most two events in a run: a third incarnation waits. */
    if (!has_state(dl) || n == 2)
        return n;
    if (!known_has(&dl->handled, now))
        out[n++] = event_as(first_type(q, dl), &dl->newest);
    /* A run since the handled state may have had other effects, so even the handled state is
     * delivered once more. */
    else if (delivery_is_attempted(dl))
        out[n++] = event_as(repeat_type(q), &dl->newest);
    else if (filter_known_changed(q->filter, &dl->handled, now))
        out[n++] = event_as(DELTA_MODIFIED, &dl->newest);
    return n;
}

bool delivery_repeat(const struct delivery_queue *q, const struct delivery *dl,
                     struct delivery_event *out)
{
    enum delta_type type = repeat_type(q);

    /* A rerun does not deliver an outage again, as it is no object. */
    if (!has_state(dl) || dl->newest.type == DELTA_STALE || !q->sources[dl->source].is_open ||
        !filter_takes(q->filter, type))
        return false;
    *out = event_as(type, &dl->newest);
    return true;
}

struct object *delivery_base(const struct delivery *dl, const struct delivery_event *ev)
{
    bool same = ev->type == DELTA_MODIFIED && known_has(&dl->handled, ev->object);

    return same ? dl->handled.object : NULL;
}

void delivery_set_paths(struct delivery *dl, struct str lines)
{
    free(dl->delivered_paths);
    dl->delivered_paths = lines.n > 0 ? mem_strndup(lines.p, lines.n) : NULL;
}

/* ---- Changes of a delivery */

/* The end of the successor is handled or not wanted. */
static void forget_successor(struct delivery_queue *q, struct delivery *dl)
{
    delivery_touch(q, dl);
    known_set(&dl->ends->successor, NULL);
    delivery_event_set(&dl->ends->successor_delete, &no_event);
    /* Nothing is delivered if the record of its predecessor was missing. */
    dl->state = known_is(&dl->delivered) ? DELIVERED_ATTEMPTED : DELIVERED_NOTHING;
    dl->inherited = dl->inherited && known_is(&dl->delivered);
    delivery_ends_trim(dl);
}

/* The end of the delivered incarnation is handled, given up or not wanted. The successor, if there
 * is one, takes its place: it was delivered by a run that has not succeeded for it yet. */
static void forget_delivered(struct delivery_queue *q, struct delivery *dl)
{
    delivery_touch(q, dl);
    known_set(&dl->handled, NULL);
    delivery_set_paths(dl, (struct str){0});
    if (dl->state == DELIVERED_FOLLOWED) {
        known_copy(&dl->delivered, &dl->ends->successor);
        delivery_event_set(&dl->ends->pending_delete, &dl->ends->successor_delete);
        dl->ends->parked_at = 0;
        forget_successor(q, dl);
    } else {
        known_set(&dl->delivered, NULL);
        delivery_ends_drop(dl);
        dl->state = DELIVERED_NOTHING;
        dl->inherited = false;
    }
}

/* The delivered incarnation is back before its end was handled: the end is forgotten. */
static void revive_delivered(struct delivery_queue *q, struct delivery *dl)
{
    dl->state = dl->state == DELIVERED_SUPERSEDED ? DELIVERED_ATTEMPTED : dl->state;
    if (delivery_end(dl) == NULL)
        return;
    delivery_touch(q, dl);
    delivery_event_set(&dl->ends->pending_delete, &no_event);
    dl->ends->parked_at = 0;
    delivery_ends_trim(dl);
}

/* The newest state counts as handled without a run. same: the filter sees no difference from the
 * handled state. A run that is under way may still have the effects of an older state, so then the
 * key stays attempted. */
static void accept_newest(struct delivery_queue *q, struct delivery *dl, bool same)
{
    bool attempted = dl->pins > 0;

    /* A hook without ADDED: only a run for this incarnation would give the end up, and none comes. */
    if (dl->state == DELIVERED_SUPERSEDED)
        forget_delivered(q, dl);
    /* Only a change of a field that the record has makes the delivery dirty. Most changes that a filter
     * ignores come here, and none of them costs a write. */
    bool differs = !same || !known_has(&dl->delivered, dl->newest.object);
    if (differs || delivery_is_attempted(dl) != attempted)
        delivery_touch(q, dl);
    known_set(&dl->handled, dl->newest.object);
    known_set(&dl->delivered, dl->newest.object);
    dl->inherited = dl->inherited && same;
    if (attempted) {
        dl->state = DELIVERED_REATTEMPTED;
        return;
    }
    if (dl->state != DELIVERED_SKIPPED)
        dl->state = DELIVERED_HANDLED;
    delivery_set_paths(dl, (struct str){0});
}

/* ---- Due events */

/* Puts the delivery on the list of those with something due, or takes it off. One that is on it
 * keeps its place and its waiting time. */
static void set_pending(struct delivery_queue *q, struct delivery *dl, bool due, uint64_t now_ms)
{
    if (due == !list_is_empty(&dl->pending))
        return;
    if (due) {
        dl->pending_since_ms = now_ms;
        list_append(&q->pending, &dl->pending);
        q->pending_count++;
    } else {
        list_remove(&dl->pending);
        q->pending_count--;
    }
}

/* Does the hook take none of the events that are due? Ends that are due are always taken:
 * forget_untaken() has removed the others. */
static bool is_quiet(const struct delivery_queue *q, const struct delivery_event *due, size_t n)
{
    if (n == 0)
        return true;
    return n == 1 && !delivery_is_end(due[0].type) && !filter_takes(q->filter, due[0].type);
}

/* Ends that the hook does not take count as handled. The loop is for a successor, which moves up
 * and may have ended, too. */
static void forget_untaken(struct delivery_queue *q, struct delivery *dl)
{
    while (delivery_end(dl) != NULL && !filter_takes(q->filter, delivery_end(dl)->type))
        forget_delivered(q, dl);
    if (dl->state == DELIVERED_FOLLOWED && dl->ends->successor_delete.object != NULL &&
        !filter_takes(q->filter, dl->ends->successor_delete.type))
        forget_successor(q, dl);
}

/* Accepts the newest state without a run if the hook does not take its event. True if nothing is
 * due then. If a run is under way, the accepted state may have become due as MODIFIED
 * (accept_newest()). */
static bool take_note(struct delivery_queue *q, struct delivery *dl)
{
    struct delivery_event due[2];
    size_t n = delivery_events(q, dl, due);
    bool quiet = is_quiet(q, due, n);

    if (quiet && has_state(dl)) {
        accept_newest(q, dl, n == 0);
        quiet = !delivery_is_attempted(dl) || is_quiet(q, due, delivery_events(q, dl, due));
    }
    return quiet;
}

/* A run has succeeded since the hook was renewed, or nothing was to be done for this key. */
static void end_renewal(struct delivery_queue *q, struct delivery *dl)
{
    if (dl->renew)
        delivery_touch(q, dl);
    dl->renew = false;
}

/* Finds out which event is due after any change of the delivery. This is the only place that decides
 * whether the key is on the list of pending ones. As long as the source is not open nothing is due,
 * though ends that the hook does not take are forgotten already. */
static void settle_delivery(struct delivery_queue *q, struct delivery *dl, uint64_t now_ms)
{
    forget_untaken(q, dl);
    bool is_open = q->sources[dl->source].is_open;
    bool quiet = !is_open || take_note(q, dl);

    if (quiet && is_open) {
        delivery_settled(q, dl);
        /* A bare object has not been delivered again yet, so its renewal goes on. */
        if (has_state(dl) || dl->newest.object == NULL)
            end_renewal(q, dl);
    }
    set_pending(q, dl, !quiet, now_ms);
}

/* ---- Changes in the cache */

/* An object ended. Only the end of an incarnation that the hook got is kept: ADDED and DELETED of
 * any other cancel out. */
static void note_end(struct delivery_queue *q, struct delivery *dl, const struct delivery_event *ev)
{
    if (known_has(&dl->delivered, ev->object))
        delivery_event_set(&delivery_ends_of(dl)->pending_delete, ev);
    else if (successor_has(dl, ev->object))
        delivery_event_set(&dl->ends->successor_delete, ev);
    if (known_is(&dl->delivered))
        delivery_touch(q, dl); /* the last state goes from the cache to the record */
    delivery_event_set(&dl->newest, &no_event);
}

/* The handled state of an earlier process is known by its digest. If the cache has that state, the
 * object takes the place of the digest, and `changed` and `old_object` work again
 * (docs/decisions.md "A state handled before the start is known by its digest"). */
static void adopt_state(struct delivery_queue *q, struct delivery *dl, struct object *state)
{
    if (dl->handled.trace != NULL && has_state(dl) && known_has(&dl->handled, state) &&
        !filter_known_changed(q->filter, &dl->handled, state))
        known_set(&dl->handled, state);
}

/* An object has a new state. */
static void note_state(struct delivery_queue *q, struct delivery *dl,
                       const struct delivery_event *ev)
{
    delivery_event_set(&dl->newest, ev);
    adopt_state(q, dl, ev->object);
    if (known_has(&dl->delivered, ev->object)) {
        revive_delivered(q, dl);
    } else if (successor_has(dl, ev->object)) {
        if (dl->ends->successor_delete.object != NULL)
            delivery_touch(q, dl);
        delivery_event_set(&dl->ends->successor_delete, &no_event);
    }
}

bool delivery_is_due(const struct delivery *dl)
{
    return !list_is_empty(&dl->pending);
}

/* Has the newest change made a difference in the due event, as the filter sees it? Only then does it
 * count for settle. */
static bool is_news(const struct delivery_queue *q, const struct delivery *dl,
                    const struct object *was)
{
    const struct object *is = dl->newest.object;

    if (!delivery_is_due(dl) || was == is)
        return false;
    if (was == NULL || is == NULL || !same_incarnation(was, is))
        return true;
    /* If the old state was handled, its difference to the new one is all that is due: the filter has
     * found that difference already. */
    bool found = was == dl->handled.object && !delivery_is_attempted(dl);
    return found || filter_changed(q->filter, was, is);
}

struct delivery *delivery_queue_change(struct delivery_queue *q, size_t source,
                                       const struct delta *d, bool *counts, uint64_t now_ms)
{
    struct delivery *dl = delivery_add(q, source, object_key(d->object));
    struct object *was = NULL;
    struct delivery_event ev = {.type = d->type,
                                .cause = d->cause,
                                .object = d->object,
                                .final_state_unknown = d->final_state_unknown,
                                .received_ns = d->received_ns};

    /* With a reference of its own: note_end() and note_state() drop the old state. */
    if (dl->newest.object != NULL)
        was = object_ref(dl->newest.object);
    if (delivery_is_end(d->type))
        note_end(q, dl, &ev);
    else
        note_state(q, dl, &ev);
    settle_delivery(q, dl, now_ms);
    *counts = is_news(q, dl, was);
    object_unref(&was);
    ensure(delivery_is_legal(q, dl));
    return delivery_release(q, dl) ? NULL : dl;
}

bool delivery_is_new_matter(const struct delivery_queue *q, const struct delivery *dl)
{
    struct delivery_event due[2];

    if (delivery_events(q, dl, due) == 0)
        return false;
    return !known_is(&dl->delivered) || delivery_is_end(due[0].type) != dl->last_was_end;
}

/* ---- Runs */

void delivery_started(struct delivery_queue *q, struct delivery *dl,
                      const struct delivery_event *ev)
{
    delivery_touch(q, dl);
    dl->inherited = false;
    dl->last_was_end = delivery_is_end(ev->type);
    /* The end that this incarnation superseded is given up now, and not before: see
     * delivery_supersede(). */
    if (!dl->last_was_end && dl->state == DELIVERED_SUPERSEDED)
        forget_delivered(q, dl);
    if (dl->last_was_end) {
        known_set(&dl->handled, NULL); /* ADDED if it comes back: its effects may be gone */
    } else if (dl->state == DELIVERED_NOTHING || known_has(&dl->delivered, ev->object)) {
        known_set(&dl->delivered, ev->object);
    } else {
        /* Behind an end in the same run, the next incarnation is the successor, so that neither end
         * can be lost
         * (docs/decisions.md "One run may tell the end of one incarnation and the next"). */
        known_set(&delivery_ends_of(dl)->successor, ev->object);
        dl->state = DELIVERED_FOLLOWED;
    }
    if (dl->state != DELIVERED_SUPERSEDED && dl->state != DELIVERED_FOLLOWED)
        dl->state = known_is(&dl->handled) ? DELIVERED_REATTEMPTED : DELIVERED_ATTEMPTED;
    dl->pins++;
    ensure(delivery_is_legal(q, dl));
}

void delivery_ended(struct delivery_queue *q, struct delivery *dl)
{
    ensure(dl->pins > 0);
    delivery_settled(q, dl);
    dl->pins--;
}

/* Puts back the fields that the start of the run changed, but keeps later changes: an end that came
 * meanwhile to an incarnation that counts as delivered before and after, or an incarnation that is back.
 * An end that the hook does not take was not kept when it came; so an incarnation that is dead and has
 * no end here is forgotten. */
void delivery_not_started(struct delivery_queue *q, struct delivery *dl,
                          const struct delivery_snapshot *was)
{
    bool stays = known_is(&dl->delivered) && known_is(&was->delivered) &&
                 str_eq(known_uid(&dl->delivered), known_uid(&was->delivered));
    struct delivery_ends *ends = delivery_ends_of(dl);

    ensure(dl->pins > 0);
    dl->pins--;
    delivery_touch(q, dl);
    dl->state = was->state;
    dl->last_was_end = was->last_was_end;
    dl->inherited = was->inherited;
    known_copy(&dl->handled, &was->handled);
    known_copy(&dl->delivered, &was->delivered);
    known_copy(&ends->successor, &was->successor);
    delivery_set_paths(dl, str_c(was->delivered_paths));
    if (!stays)
        delivery_event_set(&ends->pending_delete, &was->pending_delete);
    if (dl->state != DELIVERED_FOLLOWED)
        delivery_event_set(&ends->successor_delete, &no_event);
    else if (successor_is_dead(dl) && ends->successor_delete.object == NULL)
        forget_successor(q, dl);
    if (!delivered_is_dead(dl))
        revive_delivered(q, dl);
    else if (delivery_end(dl) == NULL)
        forget_delivered(q, dl);
    delivery_ends_trim(dl);
    ensure(delivery_is_legal(q, dl));
}

/* The run with this end succeeded. If the end was forgotten meanwhile, its incarnation is neither
 * the delivered one nor the successor, and nothing changes. */
static void end_handled(struct delivery_queue *q, struct delivery *dl,
                        const struct delivery_event *ev)
{
    if (successor_has(dl, ev->object))
        forget_successor(q, dl);
    else if (known_has(&dl->delivered, ev->object))
        forget_delivered(q, dl);
}

static void state_handled(struct delivery_queue *q, struct delivery *dl,
                          const struct delivery_event *ev)
{
    bool back = dl->newest.object != NULL && same_incarnation(ev->object, dl->newest.object);

    /* The object left and came back while the run was under way, and the hook does not take the
     * end, so that the delivered state was forgotten: but this run has handled it. */
    if (!known_is(&dl->delivered) && back)
        known_set(&dl->delivered, ev->object);
    if (!known_has(&dl->delivered, ev->object))
        return;
    delivery_touch(q, dl);
    known_set(&dl->handled, ev->object);
    dl->state = DELIVERED_HANDLED;
    delivery_set_paths(dl, (struct str){0});
}

void delivery_handled(struct delivery_queue *q, struct delivery *dl,
                      const struct delivery_event *ev, uint64_t now_ms)
{
    if (delivery_is_end(ev->type))
        end_handled(q, dl, ev);
    else
        state_handled(q, dl, ev);
    end_renewal(q, dl);
    /* The waiting time begins anew: a run has just succeeded, and the event that is due now came later. */
    set_pending(q, dl, false, now_ms);
    settle_delivery(q, dl, now_ms);
    ensure(delivery_is_legal(q, dl));
}

void delivery_failed(struct delivery_queue *q, struct delivery *dl, uint64_t now_ms)
{
    settle_delivery(q, dl, now_ms);
    ensure(delivery_is_legal(q, dl));
}

void delivery_supersede(struct delivery_queue *q, struct delivery *dl, uint64_t now_ms)
{
    delivery_touch(q, dl);
    /* FOLLOWED comes here only if an earlier process had another mode. */
    if (delivery_end(dl) == NULL)
        forget_successor(q, dl);
    else if (dl->state == DELIVERED_ATTEMPTED)
        dl->state = DELIVERED_SUPERSEDED;
    else
        forget_delivered(q, dl);
    settle_delivery(q, dl, now_ms);
    ensure(delivery_is_legal(q, dl));
}

void delivery_give_up(struct delivery_queue *q, struct delivery *dl, uint64_t now_ms)
{
    while (delivery_end(dl) != NULL)
        forget_delivered(q, dl);
    settle_delivery(q, dl, now_ms);
    ensure(delivery_is_legal(q, dl));
}

/* ---- The first sight of a source */

/* Argument of open_delivery(). */
struct opening {
    struct delivery_queue *q;
    bool skip;
    uint64_t now_ms;
};

/* An incarnation that an earlier process delivered may have ended without any event. This is the one
 * rule that restored records add (docs/decisions.md "Restored records add one rule"). */
static void end_unseen(struct delivery_queue *q, struct delivery *dl)
{
    /* The record of the predecessor may be missing. */
    if (!known_is(&dl->delivered) && dl->state == DELIVERED_FOLLOWED)
        forget_delivered(q, dl);
    if (delivered_is_dead(dl) && delivery_end(dl) == NULL) {
        delivery_ends_of(dl)->pending_delete = delivery_event_over(q, dl, &dl->delivered);
        delivery_touch(q, dl);
    }
    if (successor_is_dead(dl) && dl->ends->successor_delete.object == NULL)
        dl->ends->successor_delete = delivery_event_over(q, dl, &dl->ends->successor);
}

static void open_delivery(void *arg, struct delivery *dl)
{
    const struct opening *o = arg;

    end_unseen(o->q, dl);
    /* An incarnation that was delivered is not skipped, as the hook has to learn of its changes. */
    if (o->skip && has_state(dl) && dl->newest.type != DELTA_STALE && !known_is(&dl->delivered)) {
        accept_newest(o->q, dl, false);
        if (dl->state == DELIVERED_HANDLED) /* else an earlier run is under way */
            dl->state = DELIVERED_SKIPPED;
    }
    settle_delivery(o->q, dl, o->now_ms);
    if (delivery_is_due(dl)) {
        dl->existing = true;
        o->q->existing_left++;
        ensure(delivery_is_legal(o->q, dl));
    } else {
        delivery_release(o->q, dl);
    }
}

void delivery_queue_open(struct delivery_queue *q, size_t source, bool skip, uint64_t now_ms)
{
    struct delivery_queue_source *s = &q->sources[source];
    /* An object that came after an earlier process had seen the source is new to the hook, so it is
     * not skipped. */
    struct opening o = {q, skip && !s->is_seen, now_ms};

    ensure(!s->is_open);
    s->is_open = s->is_seen = true;
    delivery_queue_each(q, source, open_delivery, &o);
}
