/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loader_row - reads the columns of a row, and checks that they are still what was written; for
 * loader.c.
 */
#ifndef STATE_LOADER_ROW_H
#define STATE_LOADER_ROW_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "state/row.h"

struct sqlite3_stmt;

/* The queries of the loader, one per table. The row's checksum is the first column. Items come
 * sorted by kind, so that parents come before their children. The names of tables and columns are
 * part of the file (state/schema.c says what they mean). */
#define LOADER_ROW_ITEMS "SELECT sum, id, kind, parent, name, unused_since FROM item ORDER BY kind"
#define LOADER_ROW_FACTS "SELECT sum, item, what, key, value FROM fact"
#define LOADER_ROW_OBJECTS                                                                   \
    "SELECT sum, stream, key, uid, rv, generation, api_version, kind, rv_at, generation_at," \
    " digest, body FROM object"
#define LOADER_ROW_DELIVERIES                                                                   \
    "SELECT sum, source, key, uid, handled, told, open, ended, note, last_uid, rv, generation," \
    " api_version, kind, rv_at, generation_at, digest, body FROM mark"

/* Reads the item that the statement stands on; scratch is any buffer. False: the row is not what
 * was written. The strings are borrowed until the statement moves on. This holds for the three
 * functions below, too. */
bool loader_row_item(struct sqlite3_stmt *stmt, struct buf *scratch, struct row_item *item);
/* Reads a fact. A word that this release does not know gives ROW_WHATS. */
bool loader_row_fact(struct sqlite3_stmt *stmt, struct buf *scratch, struct row_fact *fact);
/* Reads an object and the id of its scope. */
bool loader_row_object(struct sqlite3_stmt *stmt, struct buf *scratch, uint64_t *scope,
                       struct row_object *o);
/* Reads a delivery record. */
bool loader_row_delivery(struct sqlite3_stmt *stmt, struct buf *scratch, struct row_delivery *m);

#endif
