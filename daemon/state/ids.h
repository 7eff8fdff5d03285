/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ids - the items of the state by name: gives them their ids, and finds out which ones no
 * configuration has any more; pure.
 */
#ifndef STATE_IDS_H
#define STATE_IDS_H

#include <stdint.h>

#include "base/str.h"
#include "state/batch.h"
#include "state/row.h"

struct ids;

/* An empty one. Never NULL. */
struct ids *ids_create(void);

/* Frees it and sets *r to NULL. NULL is fine. */
void ids_destroy(struct ids **r);

/* An item that was read from disk. */
void ids_add(struct ids *r, const struct row_item *item);

/* The id of an item that the configuration has; a new one, or one that was not in use, is put into
 * the batch as well. */
uint64_t ids_use(struct ids *r, struct batch *b, enum row_kind kind, uint64_t parent,
                 struct str name);

/* The id of an item, 0 = there is none. */
uint64_t ids_find(const struct ids *r, enum row_kind kind, uint64_t parent, struct str name);

/* The name of an item, borrowed; empty: there is none of that id. */
struct str ids_name(const struct ids *r, uint64_t id);

/* After ids_use() of everything that the configuration has: what was not used is noted as unused
 * since now, and forgotten after grace_s of that. now_s: wall clock; a clock that went back begins
 * the time anew. Then nothing counts as used, for the next configuration. */
void ids_sweep(struct ids *r, struct batch *b, uint64_t now_s, uint64_t grace_s);

/* Behind that: what was not used then is forgotten now, but for clusters. */
void ids_drop_unused(struct ids *r, struct batch *b);

/* Puts all items into the batch, for a file that begins anew. */
void ids_put_all(const struct ids *r, struct batch *b);

#endif
