/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loader_row - the columns of a row as data, and whether they are still what was written; for
 * loader.c.
 */
#ifndef STATE_LOADER_ROW_H
#define STATE_LOADER_ROW_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "state/row.h"

struct sqlite3_stmt;

/* The sum comes first. */
#define LOADER_ROW_ITEMS "SELECT sum, id, kind, parent, name, unused_since FROM item ORDER BY kind"
#define LOADER_ROW_FACTS "SELECT sum, item, what, key, value FROM fact"
#define LOADER_ROW_OBJECTS                                                                   \
    "SELECT sum, stream, key, uid, rv, generation, api_version, kind, rv_at, generation_at," \
    " digest, body FROM object"
#define LOADER_ROW_DELIVERIES                                                                   \
    "SELECT sum, source, key, uid, handled, told, open, ended, note, last_uid, rv, generation," \
    " api_version, kind, rv_at, generation_at, digest, body FROM mark"

/* Each reads the row that the statement stands on; scratch is any buffer. False: it is not what was
 * written. What is read is borrowed until the statement moves on. A fact whose word
 * is not known to this release is ROW_WHATS. */
bool loader_row_item(struct sqlite3_stmt *stmt, struct buf *scratch, struct row_item *item);
/* See above. */
bool loader_row_fact(struct sqlite3_stmt *stmt, struct buf *scratch, struct row_fact *fact);
/* See above. */
bool loader_row_object(struct sqlite3_stmt *stmt, struct buf *scratch, uint64_t *scope,
                       struct row_object *o);
/* See above. */
bool loader_row_delivery(struct sqlite3_stmt *stmt, struct buf *scratch, struct row_delivery *m);

#endif
