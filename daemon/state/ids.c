/* SPDX-License-Identifier: Apache-2.0 */
#include "state/ids.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/compiler.h"
#include "base/map.h"
#include "base/mem.h"
#include "state/pack.h"

/* One item and the path by which the map finds it. */
struct entry {
    struct map_node node;
    struct row_item item; /* its name points into path */
    bool is_used;         /* ids_use() was called since the last sweep */
    bool is_kept;         /* ids_keep() */
    size_t path_size;
    char path[]; /* the key in the map: kind, parent, name */
};

struct ids {
    struct map entries;
    uint64_t last_id; /* the largest id in use; the next item gets the one behind it */
};

struct ids *ids_create(void)
{
    return mem_zalloc(sizeof(struct ids));
}

static struct entry *entry_of(struct map_node *node)
{
    return node != NULL ? map_entry(node, struct entry, node) : NULL;
}

void ids_destroy(struct ids **rp)
{
    struct ids *r = *rp;

    if (r == NULL)
        return;
    *rp = NULL;
    for (struct entry *e; (e = entry_of(map_first(&r->entries))) != NULL;) {
        map_remove(&r->entries, &e->node);
        free(e);
    }
    free(r);
}

/* Kind and parent have a fixed size, so the path is unique although the name has no length in
 * it. */
static void put_path(struct buf *out, enum row_kind kind, uint64_t parent, struct str name)
{
    pack_u64(out, kind);
    pack_u64(out, parent);
    buf_append_str(out, name);
}

static struct entry *find(const struct ids *r, enum row_kind kind, uint64_t parent, struct str name)
{
    struct buf path = {0};

    put_path(&path, kind, parent, name);
    struct entry *e = entry_of(map_get(&r->entries, buf_str(&path)));
    buf_free(&path);
    return e;
}

static struct entry *add(struct ids *r, const struct row_item *item)
{
    struct buf path = {0};

    put_path(&path, item->kind, item->parent, item->name);
    struct entry *e = mem_zalloc(sizeof(*e) + path.len);
    memcpy(e->path, path.data, path.len);
    e->path_size = path.len;
    e->item = *item;
    /* The caller's name is borrowed, so the item's name points to the copy at the end of the
     * path. */
    e->item.name = str_of(e->path + path.len - item->name.n, item->name.n);
    buf_free(&path);
    map_put(&r->entries, &e->node, str_of(e->path, e->path_size));
    if (item->id > r->last_id)
        r->last_id = item->id;
    return e;
}

void ids_add(struct ids *r, const struct row_item *item)
{
    if (find(r, item->kind, item->parent, item->name) == NULL)
        add(r, item);
}

uint64_t ids_use(struct ids *r, struct batch *b, enum row_kind kind, uint64_t parent,
                 struct str name)
{
    struct entry *e = find(r, kind, parent, name);
    bool changed = e == NULL || e->item.unused_since_s != 0;

    if (e == NULL)
        e = add(r, &(const struct row_item){
                       .id = r->last_id + 1, .kind = kind, .parent = parent, .name = name});
    e->is_used = true;
    e->item.unused_since_s = 0;
    if (changed)
        batch_item(b, &e->item);
    return e->item.id;
}

uint64_t ids_find(const struct ids *r, enum row_kind kind, uint64_t parent, struct str name)
{
    const struct entry *e = find(r, kind, parent, name);

    return e != NULL ? e->item.id : 0;
}

uint64_t ids_next(const struct ids *r, enum row_kind kind, uint64_t parent, uint64_t after)
{
    uint64_t next = 0;

    for (struct map_node *n = map_first(&r->entries); n != NULL; n = map_next(n)) {
        const struct row_item *item = &entry_of(n)->item;

        if (item->kind == kind && item->parent == parent && item->id > after &&
            (next == 0 || item->id < next))
            next = item->id;
    }
    return next;
}

/* The batch drops the children's rows as well. Their entries here stay until the caller's loop
 * reaches them: a child of an unused item has been unused for at least as long. */
static void drop(struct ids *r, struct entry *e, struct batch *b)
{
    batch_drop_item(b, e->item.id);
    map_remove(&r->entries, &e->node);
    free(e);
}

/* Whether an unused item is to be dropped. If no time is noted yet, or one in the future because
 * the clock went back, the time begins now. */
static bool is_overdue(struct entry *e, struct batch *b, uint64_t now_s, uint64_t grace_s)
{
    uint64_t since = e->item.unused_since_s;

    if (since != 0 && since <= now_s)
        return !e->is_kept && now_s - since > grace_s;
    e->item.unused_since_s = now_s;
    batch_item(b, &e->item);
    return false;
}

static struct entry *find_id(const struct ids *r, uint64_t id)
{
    for (struct map_node *n = map_first(&r->entries); n != NULL; n = map_next(n))
        if (entry_of(n)->item.id == id)
            return entry_of(n);
    return NULL;
}

struct str ids_name(const struct ids *r, uint64_t id)
{
    const struct entry *e = find_id(r, id);

    return e != NULL ? e->item.name : (struct str){0};
}

void ids_keep(struct ids *r, uint64_t id)
{
    struct entry *e = find_id(r, id);

    if (e != NULL)
        e->is_kept = true;
}

void ids_leave(struct ids *r, struct batch *b, uint64_t id, uint64_t now_s)
{
    struct entry *e = find_id(r, id);

    if (e == NULL)
        return;
    e->is_used = e->is_kept = false;
    e->item.unused_since_s = now_s;
    batch_item(b, &e->item);
}

/* The batch drops the rows of children; their entries go here. No item is the parent of an item that
 * has children. */
void ids_forget(struct ids *r, struct batch *b, uint64_t id)
{
    struct map_node *next;

    for (struct map_node *node = map_first(&r->entries); node != NULL; node = next) {
        struct entry *e = entry_of(node);

        next = map_next(node);
        if (e->item.parent == id && id != 0) {
            map_remove(&r->entries, &e->node);
            free(e);
        }
    }
    struct entry *e = find_id(r, id);
    if (e != NULL)
        drop(r, e, b);
}

void ids_sweep(struct ids *r, struct batch *b, uint64_t now_s, uint64_t grace_s)
{
    struct map_node *next;

    for (struct map_node *node = map_first(&r->entries); node != NULL; node = next) {
        struct entry *e = entry_of(node);

        next = map_next(node);
        if (!e->is_used && is_overdue(e, b, now_s, grace_s)) {
            drop(r, e, b);
            continue;
        }
        e->is_used = false;
    }
}

void ids_drop_unused(struct ids *r, struct batch *b,
                     bool (*goes)(void *arg, const struct row_item *item), void *arg)
{
    struct map_node *next;

    for (struct map_node *node = map_first(&r->entries); node != NULL; node = next) {
        struct entry *e = entry_of(node);

        next = map_next(node);
        /* A cluster has no facts but its identity, which stays true. */
        if (e->item.unused_since_s != 0 && e->item.kind != ROW_KIND_CLUSTER && !e->is_kept &&
            goes(arg, &e->item))
            drop(r, e, b);
    }
}

void ids_put_all(const struct ids *r, struct batch *b)
{
    for (struct map_node *node = map_first(&r->entries); node != NULL; node = map_next(node))
        batch_item(b, &entry_of(node)->item);
}
