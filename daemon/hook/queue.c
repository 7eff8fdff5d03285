/* SPDX-License-Identifier: Apache-2.0 */
#include "hook/queue.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/panic.h"
#include "hook/queue_mark.h"

void queue_init(struct queue *q, const struct filter *filter, size_t source_count)
{
    *q = (struct queue){.filter = filter, .source_count = source_count};
    q->sources = mem_array(source_count + 1, sizeof(*q->sources));
    list_init(&q->pending);
}

/* Takes a reference of next (may be NULL) and drops the old one. */
static void set(struct object **slot, struct object *next)
{
    struct object *old = *slot;

    *slot = next != NULL ? object_ref(next) : NULL;
    object_unref(&old);
}

static void set_event(struct queue_event *slot, const struct queue_event *next)
{
    struct object *old = slot->object;

    *slot = *next;
    if (slot->object != NULL)
        slot->object = object_ref(slot->object);
    object_unref(&old);
}

static const struct queue_event no_event;

static void clear_existing(struct queue *q, struct entry *e)
{
    if (e->existing)
        q->existing_left--;
    e->existing = false;
}

static void free_entry(struct queue *q, struct entry *e)
{
    clear_existing(q, e);
    map_remove(&q->sources[e->source].by_key, &e->node);
    if (!list_is_empty(&e->pending))
        q->pending_count--;
    list_remove(&e->pending);
    set(&e->handled, NULL);
    set(&e->announced, NULL);
    set_event(&e->newest, &no_event);
    set_event(&e->gone, &no_event);
    set(&e->heir, NULL);
    set_event(&e->heir_gone, &no_event);
    free(e->told);
    free(e);
}

void queue_each(struct queue *q, size_t source, void (*fn)(void *arg, struct entry *e), void *arg)
{
    for (struct map_node *n = map_first(&q->sources[source].by_key), *next; n != NULL; n = next) {
        next = map_next(n);
        fn(arg, map_entry(n, struct entry, node));
    }
}

static void drop_entry(void *arg, struct entry *e)
{
    free_entry(arg, e);
}

void queue_fini(struct queue *q)
{
    for (size_t i = 0; i < q->source_count; i++)
        queue_each(q, i, drop_entry, q);
    free(q->sources);
    *q = (struct queue){0};
}

struct entry *queue_find(const struct queue *q, size_t source, struct str key)
{
    ensure(source < q->source_count);
    struct map_node *node = map_get(&q->sources[source].by_key, key);

    return node != NULL ? map_entry(node, struct entry, node) : NULL;
}

static int by_key(const void *a, const void *b)
{
    const struct object *const *x = a;
    const struct object *const *y = b;

    return str_cmp(object_key(*x), object_key(*y));
}

struct object **queue_sorted(const struct queue *q, size_t source, size_t *n)
{
    const struct map *keys = &q->sources[source].by_key;
    struct object **v = mem_array(map_count(keys) + 1, sizeof(struct object *));

    *n = 0;
    for (struct map_node *node = map_first(keys); node != NULL; node = map_next(node)) {
        const struct queue_event *ev = &map_entry(node, struct entry, node)->newest;

        if (ev->object != NULL && ev->type != DELTA_STALE)
            v[(*n)++] = ev->object;
    }
    qsort(v, *n, sizeof(struct object *), by_key);
    return v;
}

static struct entry *find_or_add(struct queue *q, size_t source, struct str key)
{
    struct entry *e = queue_find(q, source, key);

    if (e != NULL)
        return e;
    e = mem_zalloc(sizeof(*e) + key.n + 1);
    memcpy(e->key, key.p, key.n);
    e->source = source;
    list_init(&e->pending);
    list_init(&e->unit.ready);
    map_put(&q->sources[source].by_key, &e->node, str_of(e->key, key.n));
    return e;
}

bool queue_is_end(enum delta_type type)
{
    return type == DELTA_DELETED || type == DELTA_LEFT || type == DELTA_FRESH;
}

static bool same_life(const struct object *a, const struct object *b)
{
    return str_eq(object_uid(a), object_uid(b));
}

/* Has a life that was announced ended? */
static bool is_dead(const struct entry *e, const struct object *life)
{
    return life != NULL && (e->newest.object == NULL || !same_life(life, e->newest.object));
}

static bool announced_is_dead(const struct entry *e)
{
    return is_dead(e, e->announced);
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
    if (is_dead(e, e->heir)) {
        ensure(e->heir_gone.object != NULL);
        out[n++] = e->heir_gone;
    }
    if (now == NULL || n == 2) /* two events are what a key may have: the next life waits */
        return n;
    if (e->handled == NULL || !same_life(e->handled, now))
        out[n++] = told_as(DELTA_ADDED, &e->newest);
    else if (e->open)
        out[n++] = told_as(repeat_type(q), &e->newest);
    else if (filter_changed(q->filter, e->handled, now))
        out[n++] = told_as(DELTA_MODIFIED, &e->newest);
    return n;
}

bool queue_repeat(const struct queue *q, const struct entry *e, struct queue_event *out)
{
    enum delta_type type = repeat_type(q);

    if (e->newest.object == NULL || e->newest.type == DELTA_STALE ||
        !q->sources[e->source].is_open || !filter_takes(q->filter, type))
        return false;
    *out = told_as(type, &e->newest);
    return true;
}

struct object *queue_base(const struct entry *e, const struct queue_event *ev)
{
    bool same = ev->type == DELTA_MODIFIED && e->handled != NULL;

    return same && same_life(e->handled, ev->object) ? e->handled : NULL;
}

void queue_told(struct entry *e, struct str lines)
{
    free(e->told);
    e->told = lines.n > 0 ? mem_strndup(lines.p, lines.n) : NULL;
}

static void forget_heir(struct entry *e)
{
    set(&e->heir, NULL);
    set_event(&e->heir_gone, &no_event);
}

/* The end of the announced life is dealt with; the heir, if there is one, takes its place. */
static void forget_announced(struct entry *e)
{
    set(&e->handled, NULL);
    set(&e->announced, e->heir);
    set_event(&e->gone, &e->heir_gone);
    forget_heir(e);
    e->open = e->announced != NULL;
    e->yields = false;
    queue_told(e, (struct str){0});
}

/* A run that is under way may still have the effects of an older state. */
static void accept_newest(struct entry *e)
{
    set(&e->handled, e->newest.object);
    set(&e->announced, e->newest.object);
    e->open = e->pins > 0;
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

/* Is nothing due that the hook wants to hear? */
static bool is_quiet(const struct queue *q, const struct entry *e)
{
    struct queue_event due[2];
    size_t n = queue_events(q, e, due);

    if (n == 0)
        return true;
    return n == 1 && !queue_is_end(due[0].type) && !filter_takes(q->filter, due[0].type);
}

/* Takes note of what the hook does not want to hear, and puts the entry on or off the list. */
static void settle_entry(struct queue *q, struct entry *e, uint64_t now_ms)
{
    while (announced_is_dead(e) && !filter_takes(q->filter, e->gone.type))
        forget_announced(e);
    if (is_dead(e, e->heir) && !filter_takes(q->filter, e->heir_gone.type))
        forget_heir(e);
    bool quiet = !q->sources[e->source].is_open || is_quiet(q, e);
    if (quiet && q->sources[e->source].is_open && e->newest.object != NULL) {
        accept_newest(e);
        quiet = !e->open || is_quiet(q, e);
    }
    if (quiet)
        clear_existing(q, e);
    set_pending(q, e, !quiet, now_ms);
}

static void note_end(struct entry *e, const struct delta *d, const struct queue_event *ev)
{
    if (e->announced != NULL && same_life(e->announced, d->object))
        set_event(&e->gone, ev);
    else if (e->heir != NULL && same_life(e->heir, d->object))
        set_event(&e->heir_gone, ev);
    set_event(&e->newest, &no_event);
}

static void note_state(struct entry *e, const struct queue_event *ev)
{
    set_event(&e->newest, ev);
    if (e->announced != NULL && same_life(e->announced, ev->object)) {
        set_event(&e->gone, &no_event); /* it is back before its end was told */
        e->yields = false;
    } else if (e->heir != NULL && same_life(e->heir, ev->object)) {
        set_event(&e->heir_gone, &no_event);
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
    struct entry *e = find_or_add(q, source, object_key(d->object));
    struct object *was = NULL;
    struct queue_event ev = {.type = d->type,
                             .cause = d->cause,
                             .object = d->object,
                             .final_state_unknown = d->final_state_unknown,
                             .received_ns = d->received_ns};

    set(&was, e->newest.object);
    if (queue_is_end(d->type))
        note_end(e, d, &ev);
    else
        note_state(e, &ev);
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
    return e->announced == NULL || queue_is_end(due[0].type) != e->told_end;
}

void queue_started(struct entry *e, const struct queue_event *ev)
{
    e->told_end = queue_is_end(ev->type);
    if (!e->told_end && e->yields)
        forget_announced(e);
    if (e->told_end)
        set(&e->handled, NULL); /* should it come back, then as ADDED: what it had may be gone */
    else
        set(e->announced == NULL || same_life(e->announced, ev->object) ? &e->announced : &e->heir,
            ev->object);
    e->open = true;
    e->pins++;
}

void queue_ended(struct queue *q, struct entry *e)
{
    ensure(e->pins > 0);
    clear_existing(q, e);
    e->pins--;
}

/* What happened to a life that stays announced while the run seemed to be under way has happened.
 * An end that was not wanted is not kept: that life is over. */
void queue_denied(struct entry *e, const struct queue_mark *was)
{
    bool stays =
        e->announced != NULL && was->announced != NULL && same_life(e->announced, was->announced);

    ensure(e->pins > 0);
    e->pins--;
    set(&e->handled, was->handled);
    set(&e->announced, was->announced);
    set(&e->heir, was->heir);
    if (!stays)
        set_event(&e->gone, &was->gone);
    if (e->heir == NULL || (is_dead(e, e->heir) && e->heir_gone.object == NULL))
        forget_heir(e);
    queue_told(e, str_c(was->told));
    e->open = was->open;
    e->told_end = was->told_end;
    e->yields = was->yields;
    if (announced_is_dead(e) && e->gone.object == NULL)
        forget_announced(e);
}

static void end_handled(struct entry *e, const struct queue_event *ev)
{
    if (e->heir != NULL && same_life(e->heir, ev->object))
        forget_heir(e);
    else if (e->announced != NULL && same_life(e->announced, ev->object))
        forget_announced(e);
}

static void state_handled(struct entry *e, const struct queue_event *ev)
{
    bool back = e->newest.object != NULL && same_life(ev->object, e->newest.object);

    if (e->announced == NULL && back) /* its end was not wanted, and it is no more */
        set(&e->announced, ev->object);
    if (e->announced == NULL || !same_life(e->announced, ev->object))
        return;
    set(&e->handled, ev->object);
    e->open = false;
    queue_told(e, (struct str){0});
}

void queue_handled(struct queue *q, struct entry *e, const struct queue_event *ev, uint64_t now_ms)
{
    if (queue_is_end(ev->type))
        end_handled(e, ev);
    else
        state_handled(e, ev);
    set_pending(q, e, false, now_ms); /* what is due now has waited since now */
    settle_entry(q, e, now_ms);
}

void queue_failed(struct queue *q, struct entry *e, uint64_t now_ms)
{
    settle_entry(q, e, now_ms);
}

void queue_yield(struct queue *q, struct entry *e, uint64_t now_ms)
{
    if (filter_takes(q->filter, DELTA_ADDED))
        e->yields = true;
    else
        forget_announced(e);
    settle_entry(q, e, now_ms);
}

struct opening {
    struct queue *q;
    bool skip;
    uint64_t now_ms;
};

static void open_entry(void *arg, struct entry *e)
{
    const struct opening *o = arg;

    if (o->skip && e->newest.object != NULL && e->newest.type != DELTA_STALE)
        accept_newest(e);
    settle_entry(o->q, e, o->now_ms);
    if (!queue_due(e))
        return;
    e->existing = true;
    o->q->existing_left++;
}

void queue_open(struct queue *q, size_t source, bool skip, uint64_t now_ms)
{
    struct opening o = {q, skip, now_ms};

    ensure(!q->sources[source].is_open);
    q->sources[source].is_open = true;
    queue_each(q, source, open_entry, &o);
}

bool queue_release(struct queue *q, struct entry *e)
{
    if (e->newest.object != NULL || e->announced != NULL || e->pins > 0 ||
        e->unit.state != UNIT_IDLE)
        return false;
    free_entry(q, e);
    return true;
}
