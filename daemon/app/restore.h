/* SPDX-License-Identifier: Apache-2.0 */
/*
 * restore - all of the state as it was read at the start, by item, until everybody has got what is
 * theirs; data.
 */
#ifndef APP_RESTORE_H
#define APP_RESTORE_H

#include <stddef.h>
#include <stdint.h>

#include "hook/delivery_log.h"
#include "kube/object.h"
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
    char *block; /* both are in it */
};

struct restore_object {
    uint64_t scope;
    struct object *object;
};

struct restore_delivery {
    uint64_t source;
    struct delivery_record delivery; /* with a reference of its own to `last` */
    char *block;                     /* key and uid are in it */
};

/* Arrays sorted by item, items by their parent. */
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

/* Reads all there is; of what is not sound nothing is left but an empty roster, and err says why.
 * folder NULL: there is nothing. Release with restore_fini(). */
enum loader_found restore_read(struct restore *r, const struct folder *folder, struct err *err);

/* Frees all; the roster, too, unless its new owner has taken it (r->roster NULL). */
void restore_fini(struct restore *r);

/* The value of a fact; .p NULL = there is none. Borrowed. */
struct str restore_value(const struct restore *r, uint64_t item, enum row_what what);

/* What belongs to an item: the first one, and how many. */
const struct restore_item *restore_parts(const struct restore *r, uint64_t parent, size_t *n);

/* The facts, objects, marks of an item: the first one, and how many. */
const struct restore_fact *restore_facts(const struct restore *r, uint64_t item, size_t *n);
/* See above. */
const struct restore_object *restore_objects(const struct restore *r, uint64_t scope, size_t *n);
/* See above. */
const struct restore_delivery *restore_deliveries(const struct restore *r, uint64_t source,
                                                  size_t *n);

#endif
