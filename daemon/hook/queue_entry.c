/* SPDX-License-Identifier: Apache-2.0 */
/* The entries of a queue: also queue_init(), queue_fini() and what finds and releases entries of
 * hook/queue.h. */
#include "hook/queue_entry.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/panic.h"
#include "hook/queue.h"

void queue_init(struct queue *q, const struct filter *filter, size_t source_count)
{
    *q = (struct queue){.filter = filter, .source_count = source_count};
    q->sources = mem_array(source_count + 1, sizeof(*q->sources));
    list_init(&q->pending);
    list_init(&q->dirty);
}

void queue_event_set(struct queue_event *slot, const struct queue_event *next)
{
    struct object *old = slot->object;

    *slot = *next;
    if (slot->object != NULL)
        slot->object = object_ref(slot->object);
    object_unref(&old);
}

void queue_entry_settled(struct queue *q, struct entry *e)
{
    if (e->existing)
        q->existing_left--;
    e->existing = e->recalled = false;
}

/* What a key says of an object: FRESH has nothing more. */
static struct object *make_known(const struct entry *e, struct str uid)
{
    const char *slash = strchr(e->key, '/');
    struct object_parts p = {.uid = uid, .rv_at = SIZE_MAX, .generation_at = SIZE_MAX};

    p.name = str_c(slash != NULL ? slash + 1 : e->key);
    if (slash != NULL)
        p.ns = str_of(e->key, (size_t)(slash - e->key));
    return object_create(&p);
}

struct queue_event queue_event_over(const struct queue *q, const struct entry *e,
                                    const struct known *life)
{
    bool outage = e->key[0] == '\0';

    return (struct queue_event){.type = outage ? DELTA_FRESH : DELTA_DELETED,
                                .cause = CAUSE_RESTART,
                                .object = life->object != NULL ? object_ref(life->object)
                                                               : make_known(e, known_uid(life)),
                                .final_state_unknown = !outage,
                                .received_ns = q->recalled_ns};
}

void queue_entry_touch(struct queue *q, struct entry *e)
{
    if (list_is_empty(&e->dirty))
        list_append(&q->dirty, &e->dirty);
}

void queue_entry_free(struct queue *q, struct entry *e)
{
    queue_entry_settled(q, e);
    map_remove(&q->sources[e->source].by_key, &e->node);
    if (!list_is_empty(&e->pending))
        q->pending_count--;
    list_remove(&e->pending);
    list_remove(&e->dirty);
    known_set(&e->handled, NULL);
    known_set(&e->announced, NULL);
    known_set(&e->heir, NULL);
    object_unref(&e->newest.object);
    object_unref(&e->gone.object);
    object_unref(&e->heir_gone.object);
    free(e->kept[0]);
    free(e->kept[1]);
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
    queue_entry_free(arg, e);
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

        if (ev->object != NULL && ev->type != DELTA_STALE && !object_is_bare(ev->object))
            v[(*n)++] = ev->object;
    }
    qsort(v, *n, sizeof(struct object *), by_key);
    return v;
}

struct entry *queue_entry_add(struct queue *q, size_t source, struct str key)
{
    struct entry *e = queue_find(q, source, key);

    if (e != NULL)
        return e;
    e = mem_zalloc(sizeof(*e) + key.n + 1);
    memcpy(e->key, key.p, key.n);
    e->source = source;
    list_init(&e->pending);
    list_init(&e->unit.ready);
    list_init(&e->dirty);
    map_put(&q->sources[source].by_key, &e->node, str_of(e->key, key.n));
    return e;
}

bool queue_release(struct queue *q, struct entry *e)
{
    bool kept = e->kept[0] != NULL || e->kept[1] != NULL;

    if (e->newest.object != NULL || known_is(&e->announced) || e->pins > 0 || kept ||
        e->unit.state != UNIT_IDLE)
        return false;
    queue_entry_free(q, e);
    return true;
}
