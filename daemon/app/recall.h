/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recall - all of the state as it was read at the start, by item, until everybody has got what is
 * theirs; data.
 */
#ifndef APP_RECALL_H
#define APP_RECALL_H

#include <stddef.h>
#include <stdint.h>

#include "hook/delivery_log.h"
#include "kube/object.h"
#include "state/loader.h"
#include "state/roster.h"

struct recall_item {
    uint64_t parent;
    uint64_t id;
    enum row_kind kind;
};

struct recall_fact {
    uint64_t item;
    enum row_what what;
    struct str key;
    struct str value;
    char *block; /* both are in it */
};

struct recall_object {
    uint64_t scope;
    struct object *object;
};

struct recall_mark {
    uint64_t source;
    struct delivery_record mark; /* with a reference of its own to `last` */
    char *block;                 /* key and uid are in it */
};

/* Arrays sorted by item, items by their parent. */
struct recall {
    struct roster *roster;
    struct recall_item *items;
    size_t item_count;
    struct recall_fact *facts;
    size_t fact_count;
    struct recall_object *objects;
    size_t object_count;
    struct recall_mark *marks;
    size_t mark_count;
};

/* Reads all there is; of what is not sound nothing is left but an empty roster, and err says why.
 * folder NULL: there is nothing. Release with recall_fini(). */
enum loader_found recall_read(struct recall *r, const struct folder *folder, struct err *err);

/* Frees all; the roster, too, unless its new owner has taken it (r->roster NULL). */
void recall_fini(struct recall *r);

/* The value of a fact; .p NULL = there is none. Borrowed. */
struct str recall_value(const struct recall *r, uint64_t item, enum row_what what);

/* What belongs to an item: the first one, and how many. */
const struct recall_item *recall_parts(const struct recall *r, uint64_t parent, size_t *n);

/* The facts, objects, marks of an item: the first one, and how many. */
const struct recall_fact *recall_facts(const struct recall *r, uint64_t item, size_t *n);
/* See above. */
const struct recall_object *recall_objects(const struct recall *r, uint64_t scope, size_t *n);
/* See above. */
const struct recall_mark *recall_marks(const struct recall *r, uint64_t source, size_t *n);

#endif
