/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ids - the items of the state by name: gives each item its id, and finds the items that no
 * configuration has any more; pure.
 */
#ifndef STATE_IDS_H
#define STATE_IDS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "state/batch.h"
#include "state/row.h"

struct ids;

/* A set without items. Never NULL. */
struct ids *ids_create(void);

/* Frees the set and sets *r to NULL. NULL is fine. */
void ids_destroy(struct ids **r);

/* Adds an item that was read from disk. If there is one of the same kind, parent and name, nothing
 * happens. */
void ids_add(struct ids *r, const struct row_item *item);

/* Returns the id of an item that the configuration has, and marks the item as used. An item that is
 * new, or was not in use before, is put into the batch as well. */
uint64_t ids_use(struct ids *r, struct batch *b, enum row_kind kind, uint64_t parent,
                 struct str name);

/* The id of an item, 0 if there is none of that kind, parent and name. */
uint64_t ids_find(const struct ids *r, enum row_kind kind, uint64_t parent, struct str name);

/* The items of this kind and parent one after the other: the smallest id above `after`; 0 = no
 * more. */
uint64_t ids_next(const struct ids *r, enum row_kind kind, uint64_t parent, uint64_t after);

/* The name of the item with this id, borrowed; empty if there is none. */
struct str ids_name(const struct ids *r, uint64_t id);

/* The item stays although no configuration has it, until ids_forget(); its children do not. */
void ids_keep(struct ids *r, uint64_t id);

/* A reload does not have the item any more: it is unused since now_s, as ids_sweep() would note at the
 * next start, and not kept. */
void ids_leave(struct ids *r, struct batch *b, uint64_t id, uint64_t now_s);

/* Drops the item with its children and all their rows now. */
void ids_forget(struct ids *r, struct batch *b, uint64_t id);

/* Call after ids_use() of everything that the configuration has. Items that were not used are noted
 * as unused since now_s, and dropped once they have been unused for more than grace_s seconds
 * (docs/design.md "Missed deletes"). now_s is the wall clock in seconds; if it is before the noted
 * time, the clock went back and the time begins anew. Afterwards no item counts as used, for the
 * next configuration. */
void ids_sweep(struct ids *r, struct batch *b, uint64_t now_s, uint64_t grace_s);

/* Call after ids_sweep(): drops the unused items that `goes` chooses now, without waiting for grace_s,
 * except clusters and kept items. goes() may look items up. With an item go its children's rows. */
void ids_drop_unused(struct ids *r, struct batch *b,
                     bool (*goes)(void *arg, const struct row_item *item), void *arg);

/* Puts all items into the batch, for a new file. */
void ids_put_all(const struct ids *r, struct batch *b);

#endif
