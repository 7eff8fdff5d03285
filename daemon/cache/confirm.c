/* SPDX-License-Identifier: Apache-2.0 */
#include "cache/confirm.h"

#include <stdlib.h>

#include "base/list.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/panic.h"

/* A DELETED that is held back. */
struct held {
    struct map_node node;
    struct list by_age;
    struct list by_turn; /* waits for its GET; on no list while that is under way */
    struct delta delta;  /* with a reference to object; before is NULL */
    struct object *told; /* the state that subscribers know; a reference */
    uint64_t until_ms;   /* when its patience ends */
};

/* The GET under way. */
enum asking {
    ASKING_NONE,
    ASKING_HELD, /* for the DELETED in asked */
    ASKING_LATE, /* its DELETED has gone out, so the answer is ignored */
};

struct confirm {
    struct map by_key;
    struct list by_age;
    struct list by_turn;
    enum asking asking;
    struct held *asked;
    uint64_t retry_ms; /* the wait after the next GET without an answer */
    uint64_t next_ms;  /* no GET before this time */
    delta_sink *sink;
    void *arg;
};

struct confirm *confirm_create(delta_sink *sink, void *arg)
{
    struct confirm *c =
        MEM_NEW(struct confirm, .sink = sink, .arg = arg, .retry_ms = CONFIRM_RETRY_MS);

    list_init(&c->by_age);
    list_init(&c->by_turn);
    return c;
}

static void free_held(struct confirm *c, struct held *h)
{
    map_remove(&c->by_key, &h->node);
    list_remove(&h->by_age);
    list_remove(&h->by_turn);
    object_unref(&h->delta.object);
    object_unref(&h->told);
    free(h);
}

void confirm_forget(struct confirm *c)
{
    list_each (pos, tmp, &c->by_age)
        free_held(c, list_entry(pos, struct held, by_age));
    /* The answer to a GET under way must not touch a DELETED that was freed. */
    if (c->asking == ASKING_HELD)
        c->asking = ASKING_LATE;
    c->asked = NULL;
}

void confirm_destroy(struct confirm **cp)
{
    struct confirm *c = *cp;

    if (c == NULL)
        return;
    *cp = NULL;
    confirm_forget(c);
    free(c);
}

/* Sends a DELETED out, as it came or as LEFT. struct held is freed first, so that confirm_count()
 * is right when the sink runs. An object that has LEFT exists, so no final state is missing. */
static void release(struct confirm *c, struct held *h, enum delta_type as, uint64_t now_ms)
{
    struct delta d = h->delta;

    d.type = as;
    d.now_ms = now_ms;
    if (as == DELTA_LEFT)
        d.final_state_unknown = false;
    if (c->asked == h) {
        c->asked = NULL;
        c->asking = ASKING_LATE;
    }
    object_ref(d.object);
    free_held(c, h);
    c->sink(c->arg, &d);
    object_unref(&d.object);
}

void confirm_take(struct confirm *c, const struct delta *d)
{
    struct map_node *node = map_get(&c->by_key, object_key(d->object));

    /* The held DELETED goes out first: the order of a key's deltas must not change. With the same
     * uid the object exists after all; another DELETED or another uid means that it was gone. */
    if (node != NULL) {
        struct held *was = map_entry(node, struct held, node);
        bool same = str_eq(object_uid(was->delta.object), object_uid(d->object));

        release(c, was, same && d->type != DELTA_DELETED ? DELTA_LEFT : DELTA_DELETED, d->now_ms);
    }
    if (d->type != DELTA_DELETED) {
        c->sink(c->arg, d);
        return;
    }
    struct held *h = MEM_NEW(struct held, .delta = *d, .until_ms = d->now_ms + CONFIRM_PATIENCE_MS);
    h->delta.before = NULL;
    h->told = object_ref(d->before != NULL ? d->before : d->object);
    object_ref(h->delta.object);
    list_init(&h->by_age);
    list_init(&h->by_turn);
    list_append(&c->by_age, &h->by_age);
    list_append(&c->by_turn, &h->by_turn);
    map_put(&c->by_key, &h->node, object_key(h->delta.object));
}

/* One GET at a time (docs/decisions.md "confirm_deletes asks one GET at a time, for 30 s"). */
static struct held *first_in_turn(const struct confirm *c)
{
    struct list *first = list_first(&c->by_turn);

    return first != NULL && c->asking == ASKING_NONE ? list_entry(first, struct held, by_turn)
                                                     : NULL;
}

const struct object *confirm_next(const struct confirm *c, uint64_t now_ms)
{
    const struct held *h = first_in_turn(c);

    return h != NULL && now_ms >= c->next_ms ? h->delta.object : NULL;
}

void confirm_started(struct confirm *c, uint64_t now_ms)
{
    ensure(confirm_next(c, now_ms) != NULL);
    c->asked = first_in_turn(c);
    c->asking = ASKING_HELD;
    list_remove(&c->asked->by_turn);
}

void confirm_answer(struct confirm *c, enum confirm_answer answer, uint64_t now_ms)
{
    struct held *h = c->asked;

    ensure(c->asking != ASKING_NONE);
    if (answer == CONFIRM_NO_ANSWER) {
        c->next_ms = now_ms + c->retry_ms;
        c->retry_ms =
            c->retry_ms < CONFIRM_RETRY_MAX_MS / 2 ? c->retry_ms * 2 : CONFIRM_RETRY_MAX_MS;
    } else {
        c->retry_ms = CONFIRM_RETRY_MS;
    }
    /* The DELETED goes to the end, so that one object whose GET always fails does not block the
     * others. */
    if (h != NULL && answer == CONFIRM_NO_ANSWER)
        list_append(&c->by_turn, &h->by_turn);
    c->asked = NULL;
    c->asking = ASKING_NONE;
    /* Last, as the state of c must be right when the sink runs. */
    if (h != NULL && answer != CONFIRM_NO_ANSWER)
        release(c, h, answer == CONFIRM_SAME ? DELTA_LEFT : DELTA_DELETED, now_ms);
}

/* The DELETED that has been held for the longest time, or NULL. */
static struct held *oldest(const struct confirm *c)
{
    struct list *first = list_first(&c->by_age);

    return first != NULL ? list_entry(first, struct held, by_age) : NULL;
}

void confirm_tick(struct confirm *c, uint64_t now_ms)
{
    struct held *h;

    while ((h = oldest(c)) != NULL && now_ms >= h->until_ms)
        release(c, h, DELTA_DELETED, now_ms);
}

uint64_t confirm_due_ms(const struct confirm *c)
{
    const struct held *h = oldest(c);
    uint64_t due_ms = h != NULL ? h->until_ms : UINT64_MAX;

    if (first_in_turn(c) != NULL && c->next_ms < due_ms)
        return c->next_ms;
    return due_ms;
}

size_t confirm_count(const struct confirm *c)
{
    return map_count(&c->by_key);
}

void confirm_each(const struct confirm *c, void (*fn)(void *arg, struct object *o), void *arg)
{
    list_each (pos, tmp, &c->by_age)
        fn(arg, list_entry(pos, struct held, by_age)->told);
}
