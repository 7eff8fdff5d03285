/* SPDX-License-Identifier: Apache-2.0 */
#include "hook/queue.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/panic.h"
#include "hook/queue_mark.h"

static const struct queue_event no_event;

bool queue_is_end(enum delta_type type)
{
    return type == DELTA_DELETED || type == DELTA_LEFT || type == DELTA_FRESH;
}

static bool same_life(const struct object *a, const struct object *b)
{
    return str_eq(object_uid(a), object_uid(b));
}

/* Has a life that was announced ended? */
static bool is_dead(const struct entry *e, const struct known *life)
{
    return known_is(life) && (e->newest.object == NULL || !known_has(life, e->newest.object));
}

static bool announced_is_dead(const struct entry *e)
{
    return is_dead(e, &e->announced);
}

/* Is there a state to be told of? Of one that an earlier process has left perhaps only the name is
 * known until a list brings it: so it is not gone, and no more. */
static bool has_state(const struct entry *e)
{
    const struct queue_event *ev = &e->newest;

    return ev->object != NULL && (ev->type == DELTA_STALE || !object_is_bare(ev->object));
}

/* Whatever brought the state, the hook hears what it is to the hook. STALE has nothing in it that
 * could be modified. */
static struct queue_event told_as(enum delta_type type, const struct queue_event *newest)
{
    struct queue_event ev = *newest;

    if (ev.type != DELTA_STALE)
        ev.type = type;
    return ev;
}

/* As what an unchanged object is told again. */
static enum delta_type repeat_type(const struct queue *q)
{
    return filter_takes(q->filter, DELTA_MODIFIED) ? DELTA_MODIFIED : DELTA_ADDED;
}

size_t queue_events(const struct queue *q, const struct entry *e, struct queue_event out[2])
{
    struct object *now = e->newest.object;
    size_t n = 0;

    if (announced_is_dead(e) && (!e->yields || now == NULL)) {
        ensure(e->gone.object != NULL);
        out[n++] = e->gone;
    }
    if (is_dead(e, &e->heir)) {
        ensure(e->heir_gone.object != NULL);
        out[n++] = e->heir_gone;
    }
    if (!has_state(e) || n == 2) /* two events are what a key may have: the next life waits */
        return n;
    if (!known_has(&e->handled, now))
        out[n++] = told_as(DELTA_ADDED, &e->newest);
    else if (e->open)
        out[n++] = told_as(repeat_type(q), &e->newest);
    else if (filter_known_changed(q->filter, &e->handled, now))
        out[n++] = told_as(DELTA_MODIFIED, &e->newest);
    return n;
}

bool queue_repeat(const struct queue *q, const struct entry *e, struct queue_event *out)
{
    enum delta_type type = repeat_type(q);

    if (!has_state(e) || e->newest.type == DELTA_STALE || !q->sources[e->source].is_open ||
        !filter_takes(q->filter, type))
        return false;
    *out = told_as(type, &e->newest);
    return true;
}

struct object *queue_base(const struct entry *e, const struct queue_event *ev)
{
    bool same = ev->type == DELTA_MODIFIED && known_has(&e->handled, ev->object);

    return same ? e->handled.object : NULL;
}

void queue_told(struct entry *e, struct str lines)
{
    free(e->told);
    e->told = lines.n > 0 ? mem_strndup(lines.p, lines.n) : NULL;
}

static void forget_heir(struct queue *q, struct entry *e)
{
    if (known_is(&e->heir))
        queue_entry_touch(q, e);
    known_set(&e->heir, NULL);
    queue_event_set(&e->heir_gone, &no_event);
}

/* The end of the announced life is dealt with; the heir, if there is one, takes its place. */
static void forget_announced(struct queue *q, struct entry *e)
{
    queue_entry_touch(q, e);
    known_set(&e->handled, NULL);
    known_copy(&e->announced, &e->heir);
    queue_event_set(&e->gone, &e->heir_gone);
    forget_heir(q, e);
    e->open = known_is(&e->announced);
    e->inherited = e->inherited && e->open;
    e->yields = false;
    e->parked_at = 0;
    e->parked_ms = 0;
    queue_told(e, (struct str){0});
}

/* A run that is under way may still have the effects of an older state. same: the filter sees no
 * difference from the handled one. */
static void accept_newest(struct queue *q, struct entry *e, bool same)
{
    bool open = e->pins > 0;

    if (!same || e->open != open || !known_has(&e->announced, e->newest.object))
        queue_entry_touch(q, e);
    known_set(&e->handled, e->newest.object);
    known_set(&e->announced, e->newest.object);
    e->inherited = e->inherited && same;
    e->open = open;
    if (!e->open)
        queue_told(e, (struct str){0});
}

static void set_pending(struct queue *q, struct entry *e, bool due, uint64_t now_ms)
{
    if (due == !list_is_empty(&e->pending))
        return;
    if (due) {
        e->pending_since_ms = now_ms;
        list_append(&q->pending, &e->pending);
        q->pending_count++;
    } else {
        list_remove(&e->pending);
        q->pending_count--;
    }
}

/* Is there nothing among what is due that the hook wants to hear? */
static bool is_quiet(const struct queue *q, const struct queue_event *due, size_t n)
{
    if (n == 0)
        return true;
    return n == 1 && !queue_is_end(due[0].type) && !filter_takes(q->filter, due[0].type);
}

/* Ends that the hook does not want to hear. */
static void forget_untaken(struct queue *q, struct entry *e)
{
    while (announced_is_dead(e) && e->gone.object != NULL && !filter_takes(q->filter, e->gone.type))
        forget_announced(q, e);
    if (is_dead(e, &e->heir) && e->heir_gone.object != NULL &&
        !filter_takes(q->filter, e->heir_gone.type))
        forget_heir(q, e);
}

/* Takes note of a state that the hook does not want to hear. True if nothing is left that it
 * does. */
static bool take_note(struct queue *q, struct entry *e)
{
    struct queue_event due[2];
    size_t n = queue_events(q, e, due);
    bool quiet = is_quiet(q, due, n);

    if (quiet && has_state(e)) {
        accept_newest(q, e, n == 0);
        quiet = !e->open || is_quiet(q, due, queue_events(q, e, due));
    }
    return quiet;
}

/* What was done for it is gone no more, or was nothing. */
static void end_renewal(struct queue *q, struct entry *e)
{
    if (e->renew)
        queue_entry_touch(q, e);
    e->renew = false;
}

/* And puts the entry on or off the list. No state counts before the source is open. */
static void settle_entry(struct queue *q, struct entry *e, uint64_t now_ms)
{
    forget_untaken(q, e);
    bool is_open = q->sources[e->source].is_open;
    bool quiet = !is_open || take_note(q, e);

    if (quiet && is_open) {
        queue_entry_settled(q, e);
        if (has_state(e) || e->newest.object == NULL) /* of a bare one nothing could be told yet */
            end_renewal(q, e);
    }
    set_pending(q, e, !quiet, now_ms);
}

static void note_end(struct queue *q, struct entry *e, const struct queue_event *ev)
{
    if (known_has(&e->announced, ev->object))
        queue_event_set(&e->gone, ev);
    else if (known_has(&e->heir, ev->object))
        queue_event_set(&e->heir_gone, ev);
    if (known_is(&e->announced))
        queue_entry_touch(q, e); /* the last state goes from the cache to the mark */
    queue_event_set(&e->newest, &no_event);
}

/* What an earlier process has handled is known whole again: it is what the cache has of it. */
static void adopt_state(struct queue *q, struct entry *e, struct object *state)
{
    if (e->handled.trace != NULL && has_state(e) && known_has(&e->handled, state) &&
        !filter_known_changed(q->filter, &e->handled, state))
        known_set(&e->handled, state);
}

static void note_state(struct queue *q, struct entry *e, const struct queue_event *ev)
{
    queue_event_set(&e->newest, ev);
    adopt_state(q, e, ev->object);
    if (known_has(&e->announced, ev->object)) {
        if (e->gone.object != NULL)
            queue_entry_touch(q, e);
        queue_event_set(&e->gone, &no_event); /* it is back before its end was told */
        e->yields = false;
        e->parked_at = 0;
        e->parked_ms = 0;
    } else if (known_has(&e->heir, ev->object)) {
        if (e->heir_gone.object != NULL)
            queue_entry_touch(q, e);
        queue_event_set(&e->heir_gone, &no_event);
    }
}

bool queue_due(const struct entry *e)
{
    return !list_is_empty(&e->pending);
}

/* Is what is due another thing than before the newest state came, as the hook sees it? */
static bool is_news(const struct queue *q, const struct entry *e, const struct object *was)
{
    const struct object *is = e->newest.object;

    if (!queue_due(e) || was == is)
        return false;
    return was == NULL || is == NULL || !same_life(was, is) || filter_changed(q->filter, was, is);
}

struct entry *queue_change(struct queue *q, size_t source, const struct delta *d, uint64_t now_ms)
{
    struct entry *e = queue_entry_add(q, source, object_key(d->object));
    struct object *was = NULL;
    struct queue_event ev = {.type = d->type,
                             .cause = d->cause,
                             .object = d->object,
                             .final_state_unknown = d->final_state_unknown,
                             .received_ns = d->received_ns};

    if (e->newest.object != NULL)
        was = object_ref(e->newest.object);
    if (queue_is_end(d->type))
        note_end(q, e, &ev);
    else
        note_state(q, e, &ev);
    settle_entry(q, e, now_ms);
    e->counts = is_news(q, e, was);
    object_unref(&was);
    return queue_release(q, e) ? NULL : e;
}

bool queue_new_matter(const struct queue *q, const struct entry *e)
{
    struct queue_event due[2];

    if (queue_events(q, e, due) == 0)
        return false;
    return !known_is(&e->announced) || queue_is_end(due[0].type) != e->told_end;
}

void queue_started(struct queue *q, struct entry *e, const struct queue_event *ev)
{
    queue_entry_touch(q, e);
    e->skipped = e->inherited = false;
    e->told_end = queue_is_end(ev->type);
    if (!e->told_end && e->yields)
        forget_announced(q, e);
    if (e->told_end)
        known_set(&e->handled, NULL); /* should it come back, then as ADDED: it may be gone */
    else
        known_set(!known_is(&e->announced) || known_has(&e->announced, ev->object) ? &e->announced
                                                                                   : &e->heir,
                  ev->object);
    e->open = true;
    e->pins++;
}

void queue_ended(struct queue *q, struct entry *e)
{
    ensure(e->pins > 0);
    queue_entry_settled(q, e);
    e->pins--;
}

/* What happened to a life that stays announced while the run seemed to be under way has happened.
 * An end that was not wanted is not kept: that life is over. */
void queue_denied(struct queue *q, struct entry *e, const struct queue_mark *was)
{
    bool stays = known_is(&e->announced) && known_is(&was->announced) &&
                 str_eq(known_uid(&e->announced), known_uid(&was->announced));

    ensure(e->pins > 0);
    e->pins--;
    queue_entry_touch(q, e);
    known_copy(&e->handled, &was->handled);
    known_copy(&e->announced, &was->announced);
    known_copy(&e->heir, &was->heir);
    if (!stays)
        queue_event_set(&e->gone, &was->gone);
    if (!known_is(&e->heir) || (is_dead(e, &e->heir) && e->heir_gone.object == NULL))
        forget_heir(q, e);
    queue_told(e, str_c(was->told));
    e->open = was->open;
    e->told_end = was->told_end;
    e->yields = was->yields;
    e->skipped = was->skipped;
    e->inherited = was->inherited;
    if (announced_is_dead(e) && e->gone.object == NULL)
        forget_announced(q, e);
}

static void end_handled(struct queue *q, struct entry *e, const struct queue_event *ev)
{
    if (known_has(&e->heir, ev->object))
        forget_heir(q, e);
    else if (known_has(&e->announced, ev->object))
        forget_announced(q, e);
}

static void state_handled(struct queue *q, struct entry *e, const struct queue_event *ev)
{
    bool back = e->newest.object != NULL && same_life(ev->object, e->newest.object);

    if (!known_is(&e->announced) && back) /* its end was not wanted, and it is no more */
        known_set(&e->announced, ev->object);
    if (!known_has(&e->announced, ev->object))
        return;
    queue_entry_touch(q, e);
    known_set(&e->handled, ev->object);
    e->open = false;
    queue_told(e, (struct str){0});
}

void queue_handled(struct queue *q, struct entry *e, const struct queue_event *ev, uint64_t now_ms)
{
    if (queue_is_end(ev->type))
        end_handled(q, e, ev);
    else
        state_handled(q, e, ev);
    end_renewal(q, e);
    set_pending(q, e, false, now_ms); /* what is due now has waited since now */
    settle_entry(q, e, now_ms);
}

void queue_failed(struct queue *q, struct entry *e, uint64_t now_ms)
{
    settle_entry(q, e, now_ms);
}

void queue_yield(struct queue *q, struct entry *e, uint64_t now_ms)
{
    queue_entry_touch(q, e);
    if (filter_takes(q->filter, DELTA_ADDED))
        e->yields = true;
    else
        forget_announced(q, e);
    settle_entry(q, e, now_ms);
}

void queue_give_up(struct queue *q, struct entry *e, uint64_t now_ms)
{
    while (announced_is_dead(e) && e->gone.object != NULL)
        forget_announced(q, e);
    settle_entry(q, e, now_ms);
}

struct opening {
    struct queue *q;
    bool skip;
    uint64_t now_ms;
};

/* What was announced by an earlier process may be over without anybody having said so. */
static void end_unseen(struct queue *q, struct entry *e)
{
    if (!known_is(&e->announced) && known_is(&e->heir))
        forget_announced(q, e);
    if (announced_is_dead(e) && e->gone.object == NULL) {
        e->gone = queue_event_over(q, e, &e->announced);
        queue_entry_touch(q, e);
    }
    if (is_dead(e, &e->heir) && e->heir_gone.object == NULL)
        e->heir_gone = queue_event_over(q, e, &e->heir);
}

static void open_entry(void *arg, struct entry *e)
{
    const struct opening *o = arg;

    end_unseen(o->q, e);
    if (o->skip && has_state(e) && e->newest.type != DELTA_STALE && !known_is(&e->announced)) {
        accept_newest(o->q, e, false);
        e->skipped = true;
    }
    settle_entry(o->q, e, o->now_ms);
    if (queue_due(e)) {
        e->existing = true;
        o->q->existing_left++;
    } else {
        queue_release(o->q, e);
    }
}

void queue_open(struct queue *q, size_t source, bool skip, uint64_t now_ms)
{
    struct queue_source *s = &q->sources[source];
    struct opening o = {q, skip && !s->is_seen, now_ms};

    ensure(!s->is_open);
    s->is_open = s->is_seen = true;
    queue_each(q, source, open_entry, &o);
}
