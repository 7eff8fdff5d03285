/* SPDX-License-Identifier: Apache-2.0 */
#include "persist/restore.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "persist/row.h"

/* Copies both strings into one block, and makes a and b point there: the loader lends them only for
 * the call. */
static char *copy(struct str *a, struct str *b)
{
    char *block = mem_alloc(a->n + b->n + 1);
    char *at = block;

    *a = str_put(&at, *a);
    *b = str_put(&at, *b);
    return block;
}

/* The rows are only gathered here. No watch or hook gets any before the loader has read the last
 * one, which may be the one that shows the damage
 * (docs/decisions.md "The state is believed as a whole or not at all"). */
static void on_item(void *arg, const struct row_item *item)
{
    struct restore *r = arg;

    ids_add(r->ids, item);
    r->items = mem_grow(r->items, r->item_count, sizeof(*r->items));
    r->items[r->item_count++] = (struct restore_item){item->parent, item->id, item->kind};
}

static void on_fact(void *arg, const struct row_fact *fact)
{
    struct restore *r = arg;
    struct restore_fact own = {
        .item = fact->item, .what = fact->what, .key = fact->key, .value = fact->value};

    own.block = copy(&own.key, &own.value);
    r->facts = mem_grow(r->facts, r->fact_count, sizeof(*r->facts));
    r->facts[r->fact_count++] = own;
}

static void on_object(void *arg, uint64_t scope, const struct row_object *o)
{
    struct restore *r = arg;

    r->objects = mem_grow(r->objects, r->object_count, sizeof(*r->objects));
    r->objects[r->object_count++] = (struct restore_object){scope, persist_row_object(o)};
}

static void on_delivery(void *arg, const struct row_delivery *row)
{
    struct restore *r = arg;
    struct restore_delivery own = {.source = row->source, .delivery = persist_row_delivery(row)};

    own.block = copy(&own.delivery.key, &own.delivery.uid);
    r->deliveries = mem_grow(r->deliveries, r->delivery_count, sizeof(*r->deliveries));
    r->deliveries[r->delivery_count++] = own;
}

/* Compares two elements of any of the four arrays: the first member of each is a uint64_t, the item
 * that it belongs to (of an item, its parent). */
static int by_item(const void *a, const void *b)
{
    uint64_t x;
    uint64_t y;

    memcpy(&x, a, sizeof(x));
    memcpy(&y, b, sizeof(y));
    return x < y ? -1 : x > y;
}

/* Sorts an array by item. SQLite mostly gives the rows in that order already, so look first: a sort
 * of 100 000 rows would cost time at each start. */
static void sort(void *v, size_t n, size_t size)
{
    const char *p = v;
    bool sorted = true;

    for (size_t i = 1; i < n && sorted; i++)
        sorted = by_item(p + (i - 1) * size, p + i * size) <= 0;
    if (!sorted)
        qsort(v, n, size, by_item);
}

/* Finds the elements of an item by binary search: the place of the first one, and in *n how many there
 * are. */
static size_t find(const void *v, size_t count, size_t size, uint64_t item, size_t *n)
{
    const char *p = v;
    size_t low = 0;
    size_t high = count;

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (by_item(p + mid * size, &item) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    for (*n = 0; low + *n < count && by_item(p + (low + *n) * size, &item) == 0;)
        ++*n;
    return low;
}

static const void *range(const void *v, size_t count, size_t size, uint64_t item, size_t *n)
{
    size_t at = find(v, count, size, item, n);

    return count > 0 ? (const char *)v + at * size : NULL;
}

static void free_delivery(struct restore_delivery *d)
{
    free(d->block);
    object_unref(&d->delivery.last);
}

void restore_fini(struct restore *r)
{
    for (size_t i = 0; i < r->fact_count; i++)
        free(r->facts[i].block);
    for (size_t i = 0; i < r->object_count; i++)
        object_unref(&r->objects[i].object);
    for (size_t i = 0; i < r->delivery_count; i++)
        free_delivery(&r->deliveries[i]);
    free(r->items);
    free(r->facts);
    free(r->objects);
    free(r->deliveries);
    ids_destroy(&r->ids);
    *r = (struct restore){0};
}

enum loader_found restore_read(struct restore *r, const struct folder *folder, struct err *err)
{
    static const struct loader_sink sink = {on_item, on_fact, on_object, on_delivery};
    enum loader_found found = LOADER_NOTHING;

    *r = (struct restore){.ids = ids_create()};
    if (folder != NULL)
        found = loader_read(folder, &sink, r, err);
    /* The loader may have given a part of the rows before it found the damage: forget those. */
    if (found != LOADER_STATE) {
        restore_fini(r);
        r->ids = ids_create();
    }
    restore_sort(r);
    return found;
}

void restore_sort(struct restore *r)
{
    sort(r->items, r->item_count, sizeof(*r->items));
    sort(r->facts, r->fact_count, sizeof(*r->facts));
    sort(r->objects, r->object_count, sizeof(*r->objects));
    sort(r->deliveries, r->delivery_count, sizeof(*r->deliveries));
}

void restore_add_batch(struct restore *r, const struct batch *b)
{
    struct batch_op op;

    for (size_t at = 0; batch_next(b, &at, &op);) {
        if (op.what == BATCH_FACT)
            on_fact(r, &op.u.fact);
        else if (op.what == BATCH_DELIVERY)
            on_delivery(r, &op.u.delivery);
    }
    restore_sort(r);
}

void restore_move(struct restore *from, struct restore *to, uint64_t item)
{
    size_t n;
    size_t at = find(from->facts, from->fact_count, sizeof(*from->facts), item, &n);

    for (size_t i = at; i < at + n; i++) {
        struct restore_fact *fact = &from->facts[i];

        to->facts = mem_grow(to->facts, to->fact_count, sizeof(*to->facts));
        to->facts[to->fact_count++] = *fact;
        fact->block = NULL;
    }
    at = find(from->deliveries, from->delivery_count, sizeof(*from->deliveries), item, &n);
    for (size_t i = at; i < at + n; i++) {
        struct restore_delivery *delivery = &from->deliveries[i];

        to->deliveries = mem_grow(to->deliveries, to->delivery_count, sizeof(*to->deliveries));
        to->deliveries[to->delivery_count++] = *delivery;
        delivery->block = NULL;
        delivery->delivery.last = NULL;
    }
}

/* Frees the facts and delivery records of the items that `goes` chooses. */
static void forget(struct restore *r, bool (*goes)(void *arg, uint64_t item), void *arg)
{
    size_t facts = 0;
    size_t deliveries = 0;

    for (size_t i = 0; i < r->fact_count; i++)
        if (goes(arg, r->facts[i].item))
            free(r->facts[i].block);
        else
            r->facts[facts++] = r->facts[i];
    for (size_t i = 0; i < r->delivery_count; i++)
        if (goes(arg, r->deliveries[i].source))
            free_delivery(&r->deliveries[i]);
        else
            r->deliveries[deliveries++] = r->deliveries[i];
    r->fact_count = facts;
    r->delivery_count = deliveries;
}

static bool is_item(void *arg, uint64_t item)
{
    const uint64_t *wanted = arg;

    return item == *wanted;
}

void restore_forget(struct restore *r, uint64_t item)
{
    forget(r, is_item, &item);
}

/* The rows of an item stand side by side, so that each item is looked up once. */
struct looking_up {
    const struct ids *in;
    uint64_t item;
    bool is_dropped;
};

static bool is_dropped(void *arg, uint64_t item)
{
    struct looking_up *l = arg;

    if (item != l->item) {
        l->item = item;
        l->is_dropped = ids_name(l->in, item).n == 0;
    }
    return l->is_dropped;
}

void restore_prune(struct restore *r)
{
    struct looking_up l = {.in = r->ids};

    forget(r, is_dropped, &l);
}

const struct restore_item *restore_children(const struct restore *r, uint64_t parent, size_t *n)
{
    return range(r->items, r->item_count, sizeof(*r->items), parent, n);
}

const struct restore_fact *restore_facts(const struct restore *r, uint64_t item, size_t *n)
{
    return range(r->facts, r->fact_count, sizeof(*r->facts), item, n);
}

const struct restore_object *restore_objects(const struct restore *r, uint64_t scope, size_t *n)
{
    return range(r->objects, r->object_count, sizeof(*r->objects), scope, n);
}

const struct restore_delivery *restore_deliveries(const struct restore *r, uint64_t source,
                                                  size_t *n)
{
    return range(r->deliveries, r->delivery_count, sizeof(*r->deliveries), source, n);
}

struct str restore_value(const struct restore *r, uint64_t item, enum row_what what)
{
    size_t n;
    const struct restore_fact *facts = restore_facts(r, item, &n);

    for (size_t i = 0; i < n; i++)
        if (facts[i].what == what)
            return facts[i].value;
    return str_of(NULL, 0);
}
