/* SPDX-License-Identifier: Apache-2.0 */
/*
 * restore - the whole state as it was read at the start, sorted by item, until each watch, hook and
 * cluster has taken its rows; later the rows of hooks and sources that are not configured; data.
 */
#ifndef PERSIST_RESTORE_H
#define PERSIST_RESTORE_H

#include <stddef.h>
#include <stdint.h>

#include "hook/delivery_log.h"
#include "kube/object.h"
#include "state/batch.h"
#include "state/ids.h"
#include "state/loader.h"

struct restore_item {
    uint64_t parent;
    uint64_t id;
    enum row_kind kind;
};

struct restore_fact {
    uint64_t item;
    enum row_what what;
    struct str key;
    struct str value;
    char *block; /* the memory of key and value */
};

struct restore_object {
    uint64_t scope;
    struct object *object;
};

struct restore_delivery {
    uint64_t source;
    struct delivery_record delivery; /* holds a reference of its own to `last` */
    char *block;                     /* the memory of key and uid */
};

/* Arrays are sorted by item, the items by their parent. The rows own their memory. */
struct restore {
    struct ids *ids;
    struct restore_item *items;
    size_t item_count;
    struct restore_fact *facts;
    size_t fact_count;
    struct restore_object *objects;
    size_t object_count;
    struct restore_delivery *deliveries;
    size_t delivery_count;
};

/* Reads the whole state. If the state is damaged, or cannot be read or used, *r holds no rows, only
 * ids without an item, and err says why. folder NULL: nothing is kept, the result is
 * LOADER_NOTHING. Release with restore_fini() in any case. */
enum loader_found restore_read(struct restore *r, const struct folder *folder, struct err *err);

/* Takes the facts and delivery records that a batch puts, as if they had been read from disk. */
void restore_add_batch(struct restore *r, const struct batch *b);

/* Moves the facts and delivery records of an item behind those of `to`; restore_sort() follows.
 * Those of `from` are not to be used any more. */
void restore_move(struct restore *from, struct restore *to, uint64_t item);

/* Frees the facts and delivery records of an item. */
void restore_forget(struct restore *r, uint64_t item);

/* Frees the rows of the items that r->ids does not have any more. */
void restore_prune(struct restore *r);

/* Sorts the rows by item. */
void restore_sort(struct restore *r);

/* Frees all rows and sets *r to zero. Frees the ids as well, unless their new owner has taken them
 * and has set r->ids to NULL. */
void restore_fini(struct restore *r);

/* The value of the first fact of that kind of an item, borrowed; .p NULL = there is no such
 * fact. */
struct str restore_value(const struct restore *r, uint64_t item, enum row_what what);

/* The items whose parent is `parent`: the first one, borrowed, and in *n how many there are, one
 * behind the other. Use the pointer only if *n > 0. */
const struct restore_item *restore_children(const struct restore *r, uint64_t parent, size_t *n);

/* The facts of an item: the first one, borrowed, and in *n how many there are. Use the pointer only
 * if *n > 0. */
const struct restore_fact *restore_facts(const struct restore *r, uint64_t item, size_t *n);
/* The objects of a scope, in the same way. */
const struct restore_object *restore_objects(const struct restore *r, uint64_t scope, size_t *n);
/* The delivery records of a source, in the same way. */
const struct restore_delivery *restore_deliveries(const struct restore *r, uint64_t source,
                                                  size_t *n);

#endif
