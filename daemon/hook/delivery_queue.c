/* SPDX-License-Identifier: Apache-2.0 */
#include "hook/delivery_queue.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/panic.h"
#include "hook/delivery_snapshot.h"

static const struct delivery_event no_event;

bool delivery_is_end(enum delta_type type)
{
    return type == DELTA_DELETED || type == DELTA_LEFT || type == DELTA_FRESH;
}

static bool same_incarnation(const struct object *a, const struct object *b)
{
    return str_eq(object_uid(a), object_uid(b));
}

/* Has a life that was announced ended? */
static bool is_dead(const struct delivery *dl, const struct known *incarnation)
{
    return known_is(incarnation) &&
           (dl->newest.object == NULL || !known_has(incarnation, dl->newest.object));
}

static bool delivered_is_dead(const struct delivery *dl)
{
    return is_dead(dl, &dl->delivered);
}

/* Is there a state to be told of? Of one that an earlier process has left perhaps only the name is
 * known until a list brings it: so it is not gone, and no more. */
static bool has_state(const struct delivery *dl)
{
    const struct delivery_event *ev = &dl->newest;

    return ev->object != NULL && (ev->type == DELTA_STALE || !object_is_bare(ev->object));
}

/* Whatever brought the state, the hook hears what it is to the hook. STALE has nothing in it that
 * could be modified. */
static struct delivery_event told_as(enum delta_type type, const struct delivery_event *newest)
{
    struct delivery_event ev = *newest;

    if (ev.type != DELTA_STALE)
        ev.type = type;
    return ev;
}

/* As what an unchanged object is told again. */
static enum delta_type repeat_type(const struct delivery_queue *q)
{
    return filter_takes(q->filter, DELTA_MODIFIED) ? DELTA_MODIFIED : DELTA_ADDED;
}

size_t delivery_events(const struct delivery_queue *q, const struct delivery *dl,
                       struct delivery_event out[2])
{
    struct object *now = dl->newest.object;
    size_t n = 0;

    if (delivered_is_dead(dl) && (!dl->superseded || now == NULL)) {
        ensure(dl->pending_delete.object != NULL);
        out[n++] = dl->pending_delete;
    }
    if (is_dead(dl, &dl->successor)) {
        ensure(dl->successor_delete.object != NULL);
        out[n++] = dl->successor_delete;
    }
    if (!has_state(dl) || n == 2) /* two events are what a key may have: the next life waits */
        return n;
    if (!known_has(&dl->handled, now))
        out[n++] = told_as(DELTA_ADDED, &dl->newest);
    else if (dl->attempted)
        out[n++] = told_as(repeat_type(q), &dl->newest);
    else if (filter_known_changed(q->filter, &dl->handled, now))
        out[n++] = told_as(DELTA_MODIFIED, &dl->newest);
    return n;
}

bool delivery_repeat(const struct delivery_queue *q, const struct delivery *dl,
                     struct delivery_event *out)
{
    enum delta_type type = repeat_type(q);

    if (!has_state(dl) || dl->newest.type == DELTA_STALE || !q->sources[dl->source].is_open ||
        !filter_takes(q->filter, type))
        return false;
    *out = told_as(type, &dl->newest);
    return true;
}

struct object *delivery_base(const struct delivery *dl, const struct delivery_event *ev)
{
    bool same = ev->type == DELTA_MODIFIED && known_has(&dl->handled, ev->object);

    return same ? dl->handled.object : NULL;
}

void delivery_add_paths(struct delivery *dl, struct str lines)
{
    free(dl->delivered_paths);
    dl->delivered_paths = lines.n > 0 ? mem_strndup(lines.p, lines.n) : NULL;
}

static void forget_successor(struct delivery_queue *q, struct delivery *dl)
{
    if (known_is(&dl->successor))
        delivery_touch(q, dl);
    known_set(&dl->successor, NULL);
    delivery_event_set(&dl->successor_delete, &no_event);
}

/* The end of the announced life is dealt with; the heir, if there is one, takes its place. */
static void forget_delivered(struct delivery_queue *q, struct delivery *dl)
{
    delivery_touch(q, dl);
    known_set(&dl->handled, NULL);
    known_copy(&dl->delivered, &dl->successor);
    delivery_event_set(&dl->pending_delete, &dl->successor_delete);
    forget_successor(q, dl);
    dl->attempted = known_is(&dl->delivered);
    dl->inherited = dl->inherited && dl->attempted;
    dl->superseded = false;
    dl->parked_at = 0;
    dl->parked_ms = 0;
    delivery_add_paths(dl, (struct str){0});
}

/* A run that is under way may still have the effects of an older state. same: the filter sees no
 * difference from the handled one. */
static void accept_newest(struct delivery_queue *q, struct delivery *dl, bool same)
{
    bool attempted = dl->pins > 0;

    if (!same || dl->attempted != attempted || !known_has(&dl->delivered, dl->newest.object))
        delivery_touch(q, dl);
    known_set(&dl->handled, dl->newest.object);
    known_set(&dl->delivered, dl->newest.object);
    dl->inherited = dl->inherited && same;
    dl->attempted = attempted;
    if (!dl->attempted)
        delivery_add_paths(dl, (struct str){0});
}

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

/* Is there nothing among what is due that the hook wants to hear? */
static bool is_quiet(const struct delivery_queue *q, const struct delivery_event *due, size_t n)
{
    if (n == 0)
        return true;
    return n == 1 && !delivery_is_end(due[0].type) && !filter_takes(q->filter, due[0].type);
}

/* Ends that the hook does not want to hear. */
static void forget_untaken(struct delivery_queue *q, struct delivery *dl)
{
    while (delivered_is_dead(dl) && dl->pending_delete.object != NULL &&
           !filter_takes(q->filter, dl->pending_delete.type))
        forget_delivered(q, dl);
    if (is_dead(dl, &dl->successor) && dl->successor_delete.object != NULL &&
        !filter_takes(q->filter, dl->successor_delete.type))
        forget_successor(q, dl);
}

/* Takes note of a state that the hook does not want to hear. True if nothing is left that it
 * does. */
static bool take_note(struct delivery_queue *q, struct delivery *dl)
{
    struct delivery_event due[2];
    size_t n = delivery_events(q, dl, due);
    bool quiet = is_quiet(q, due, n);

    if (quiet && has_state(dl)) {
        accept_newest(q, dl, n == 0);
        quiet = !dl->attempted || is_quiet(q, due, delivery_events(q, dl, due));
    }
    return quiet;
}

/* What was done for it is gone no more, or was nothing. */
static void end_renewal(struct delivery_queue *q, struct delivery *dl)
{
    if (dl->renew)
        delivery_touch(q, dl);
    dl->renew = false;
}

/* And puts the entry on or off the list. No state counts before the source is open. */
static void settle_entry(struct delivery_queue *q, struct delivery *dl, uint64_t now_ms)
{
    forget_untaken(q, dl);
    bool is_open = q->sources[dl->source].is_open;
    bool quiet = !is_open || take_note(q, dl);

    if (quiet && is_open) {
        delivery_settled(q, dl);
        if (has_state(dl) ||
            dl->newest.object == NULL) /* of a bare one nothing could be told yet */
            end_renewal(q, dl);
    }
    set_pending(q, dl, !quiet, now_ms);
}

static void note_end(struct delivery_queue *q, struct delivery *dl, const struct delivery_event *ev)
{
    if (known_has(&dl->delivered, ev->object))
        delivery_event_set(&dl->pending_delete, ev);
    else if (known_has(&dl->successor, ev->object))
        delivery_event_set(&dl->successor_delete, ev);
    if (known_is(&dl->delivered))
        delivery_touch(q, dl); /* the last state goes from the cache to the mark */
    delivery_event_set(&dl->newest, &no_event);
}

/* What an earlier process has handled is known whole again: it is what the cache has of it. */
static void adopt_state(struct delivery_queue *q, struct delivery *dl, struct object *state)
{
    if (dl->handled.trace != NULL && has_state(dl) && known_has(&dl->handled, state) &&
        !filter_known_changed(q->filter, &dl->handled, state))
        known_set(&dl->handled, state);
}

static void note_state(struct delivery_queue *q, struct delivery *dl,
                       const struct delivery_event *ev)
{
    delivery_event_set(&dl->newest, ev);
    adopt_state(q, dl, ev->object);
    if (known_has(&dl->delivered, ev->object)) {
        if (dl->pending_delete.object != NULL)
            delivery_touch(q, dl);
        delivery_event_set(&dl->pending_delete, &no_event); /* it is back before its end was told */
        dl->superseded = false;
        dl->parked_at = 0;
        dl->parked_ms = 0;
    } else if (known_has(&dl->successor, ev->object)) {
        if (dl->successor_delete.object != NULL)
            delivery_touch(q, dl);
        delivery_event_set(&dl->successor_delete, &no_event);
    }
}

bool delivery_is_due(const struct delivery *dl)
{
    return !list_is_empty(&dl->pending);
}

/* Is what is due another thing than before the newest state came, as the hook sees it? */
static bool is_news(const struct delivery_queue *q, const struct delivery *dl,
                    const struct object *was)
{
    const struct object *is = dl->newest.object;

    if (!delivery_is_due(dl) || was == is)
        return false;
    return was == NULL || is == NULL || !same_incarnation(was, is) ||
           filter_changed(q->filter, was, is);
}

struct delivery *delivery_queue_change(struct delivery_queue *q, size_t source,
                                       const struct delta *d, uint64_t now_ms)
{
    struct delivery *dl = delivery_add(q, source, object_key(d->object));
    struct object *was = NULL;
    struct delivery_event ev = {.type = d->type,
                                .cause = d->cause,
                                .object = d->object,
                                .final_state_unknown = d->final_state_unknown,
                                .received_ns = d->received_ns};

    if (dl->newest.object != NULL)
        was = object_ref(dl->newest.object);
    if (delivery_is_end(d->type))
        note_end(q, dl, &ev);
    else
        note_state(q, dl, &ev);
    settle_entry(q, dl, now_ms);
    dl->counts = is_news(q, dl, was);
    object_unref(&was);
    return delivery_release(q, dl) ? NULL : dl;
}

bool delivery_is_new_matter(const struct delivery_queue *q, const struct delivery *dl)
{
    struct delivery_event due[2];

    if (delivery_events(q, dl, due) == 0)
        return false;
    return !known_is(&dl->delivered) || delivery_is_end(due[0].type) != dl->last_was_end;
}

void delivery_started(struct delivery_queue *q, struct delivery *dl,
                      const struct delivery_event *ev)
{
    delivery_touch(q, dl);
    dl->skipped = dl->inherited = false;
    dl->last_was_end = delivery_is_end(ev->type);
    if (!dl->last_was_end && dl->superseded)
        forget_delivered(q, dl);
    if (dl->last_was_end)
        known_set(&dl->handled, NULL); /* should it come back, then as ADDED: it may be gone */
    else
        known_set(!known_is(&dl->delivered) || known_has(&dl->delivered, ev->object)
                      ? &dl->delivered
                      : &dl->successor,
                  ev->object);
    dl->attempted = true;
    dl->pins++;
}

void delivery_ended(struct delivery_queue *q, struct delivery *dl)
{
    ensure(dl->pins > 0);
    delivery_settled(q, dl);
    dl->pins--;
}

/* What happened to a life that stays announced while the run seemed to be under way has happened.
 * An end that was not wanted is not kept: that life is over. */
void delivery_not_started(struct delivery_queue *q, struct delivery *dl,
                          const struct delivery_snapshot *was)
{
    bool stays = known_is(&dl->delivered) && known_is(&was->delivered) &&
                 str_eq(known_uid(&dl->delivered), known_uid(&was->delivered));

    ensure(dl->pins > 0);
    dl->pins--;
    delivery_touch(q, dl);
    known_copy(&dl->handled, &was->handled);
    known_copy(&dl->delivered, &was->delivered);
    known_copy(&dl->successor, &was->successor);
    if (!stays)
        delivery_event_set(&dl->pending_delete, &was->pending_delete);
    if (!known_is(&dl->successor) ||
        (is_dead(dl, &dl->successor) && dl->successor_delete.object == NULL))
        forget_successor(q, dl);
    delivery_add_paths(dl, str_c(was->delivered_paths));
    dl->attempted = was->attempted;
    dl->last_was_end = was->last_was_end;
    dl->superseded = was->superseded;
    dl->skipped = was->skipped;
    dl->inherited = was->inherited;
    if (delivered_is_dead(dl) && dl->pending_delete.object == NULL)
        forget_delivered(q, dl);
}

static void end_handled(struct delivery_queue *q, struct delivery *dl,
                        const struct delivery_event *ev)
{
    if (known_has(&dl->successor, ev->object))
        forget_successor(q, dl);
    else if (known_has(&dl->delivered, ev->object))
        forget_delivered(q, dl);
}

static void state_handled(struct delivery_queue *q, struct delivery *dl,
                          const struct delivery_event *ev)
{
    bool back = dl->newest.object != NULL && same_incarnation(ev->object, dl->newest.object);

    if (!known_is(&dl->delivered) && back) /* its end was not wanted, and it is no more */
        known_set(&dl->delivered, ev->object);
    if (!known_has(&dl->delivered, ev->object))
        return;
    delivery_touch(q, dl);
    known_set(&dl->handled, ev->object);
    dl->attempted = false;
    delivery_add_paths(dl, (struct str){0});
}

void delivery_handled(struct delivery_queue *q, struct delivery *dl,
                      const struct delivery_event *ev, uint64_t now_ms)
{
    if (delivery_is_end(ev->type))
        end_handled(q, dl, ev);
    else
        state_handled(q, dl, ev);
    end_renewal(q, dl);
    set_pending(q, dl, false, now_ms); /* what is due now has waited since now */
    settle_entry(q, dl, now_ms);
}

void delivery_failed(struct delivery_queue *q, struct delivery *dl, uint64_t now_ms)
{
    settle_entry(q, dl, now_ms);
}

void delivery_supersede(struct delivery_queue *q, struct delivery *dl, uint64_t now_ms)
{
    delivery_touch(q, dl);
    if (filter_takes(q->filter, DELTA_ADDED))
        dl->superseded = true;
    else
        forget_delivered(q, dl);
    settle_entry(q, dl, now_ms);
}

void delivery_give_up(struct delivery_queue *q, struct delivery *dl, uint64_t now_ms)
{
    while (delivered_is_dead(dl) && dl->pending_delete.object != NULL)
        forget_delivered(q, dl);
    settle_entry(q, dl, now_ms);
}

struct opening {
    struct delivery_queue *q;
    bool skip;
    uint64_t now_ms;
};

/* What was announced by an earlier process may be over without anybody having said so. */
static void end_unseen(struct delivery_queue *q, struct delivery *dl)
{
    if (!known_is(&dl->delivered) && known_is(&dl->successor))
        forget_delivered(q, dl);
    if (delivered_is_dead(dl) && dl->pending_delete.object == NULL) {
        dl->pending_delete = delivery_event_over(q, dl, &dl->delivered);
        delivery_touch(q, dl);
    }
    if (is_dead(dl, &dl->successor) && dl->successor_delete.object == NULL)
        dl->successor_delete = delivery_event_over(q, dl, &dl->successor);
}

static void open_entry(void *arg, struct delivery *dl)
{
    const struct opening *o = arg;

    end_unseen(o->q, dl);
    if (o->skip && has_state(dl) && dl->newest.type != DELTA_STALE && !known_is(&dl->delivered)) {
        accept_newest(o->q, dl, false);
        dl->skipped = true;
    }
    settle_entry(o->q, dl, o->now_ms);
    if (delivery_is_due(dl)) {
        dl->existing = true;
        o->q->existing_left++;
    } else {
        delivery_release(o->q, dl);
    }
}

void delivery_queue_open(struct delivery_queue *q, size_t source, bool skip, uint64_t now_ms)
{
    struct delivery_queue_source *s = &q->sources[source];
    struct opening o = {q, skip && !s->is_seen, now_ms};

    ensure(!s->is_open);
    s->is_open = s->is_seen = true;
    delivery_queue_each(q, source, open_entry, &o);
}
