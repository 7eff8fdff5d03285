/* SPDX-License-Identifier: Apache-2.0 */
/*
 * roster - the items of the state by name: gives them their ids, and finds out which ones no
 * configuration has any more; pure.
 */
#ifndef STATE_ROSTER_H
#define STATE_ROSTER_H

#include <stdint.h>

#include "base/str.h"
#include "state/batch.h"
#include "state/row.h"

struct roster;

/* An empty one. Never NULL. */
struct roster *roster_create(void);

/* Frees it and sets *r to NULL. NULL is fine. */
void roster_destroy(struct roster **r);

/* An item that was read from disk. */
void roster_add(struct roster *r, const struct row_item *item);

/* The id of an item that the configuration has; a new one, or one that was not in use, is put into
 * the batch as well. */
uint64_t roster_use(struct roster *r, struct batch *b, enum row_kind kind, uint64_t parent,
                    struct str name);

/* The id of an item, 0 = there is none. */
uint64_t roster_find(const struct roster *r, enum row_kind kind, uint64_t parent, struct str name);

/* The name of an item, borrowed; empty: there is none of that id. */
struct str roster_name(const struct roster *r, uint64_t id);

/* After roster_use() of everything that the configuration has: what was not used is noted as unused
 * since now, and forgotten after grace_s of that. now_s: wall clock; a clock that went back begins
 * the time anew. Then nothing counts as used, for the next configuration. */
void roster_sweep(struct roster *r, struct batch *b, uint64_t now_s, uint64_t grace_s);

/* Behind that: what was not used then is forgotten now, but for clusters. */
void roster_drop_unused(struct roster *r, struct batch *b);

/* Puts all items into the batch, for a file that begins anew. */
void roster_put_all(const struct roster *r, struct batch *b);

#endif
