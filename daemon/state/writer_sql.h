/* SPDX-License-Identifier: Apache-2.0 */
/*
 * writer_sql - the writer's SQL statements, and rows as values of their parameters; for writer.c
 * and writer_limit.c. Errors of all functions: as db.h says.
 */
#ifndef STATE_WRITER_SQL_H
#define STATE_WRITER_SQL_H

#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "state/row.h"
#include "state/table_sum.h"

struct sqlite3;
struct sqlite3_stmt;

enum writer_sql {
    WRITER_SQL_BEGIN,
    WRITER_SQL_COMMIT, /* only writer_sql_commit() runs this one */
    WRITER_SQL_TOTAL,  /* and this one: it writes the row of table_sum */
    WRITER_SQL_ITEM,
    WRITER_SQL_FACT,
    WRITER_SQL_DROP_FACT,
    WRITER_SQL_OBJECT,
    WRITER_SQL_DROP_OBJECT,
    WRITER_SQL_CLEAR,
    WRITER_SQL_DELIVERY,
    WRITER_SQL_DROP_DELIVERY,
    WRITER_SQL_UNUSED,  /* the cluster, watch or hook that has been unused longest */
    WRITER_SQL_LARGEST, /* the scope whose bodies have most bytes */
    WRITER_SQL_COUNT,
};

/* A connection that writes, its prepared statements, and a buffer for packing rows. */
struct writer_sql_set {
    struct sqlite3 *db;
    struct sqlite3_stmt *v[WRITER_SQL_COUNT];
    struct buf scratch;
    struct table_sum table_sum; /* including the changes of the open transaction */
};

/* Prepares all statements of set->db, and begins to follow the sum over all rows. The statements
 * are released together with the connection (db_close(), db_drop()). */
enum err_kind writer_sql_prepare(struct writer_sql_set *set, struct err *err);

/* Runs a statement that returns no rows. value is bound to its first parameter, if it has one. */
enum err_kind writer_sql_run(struct writer_sql_set *set, enum writer_sql which, uint64_t value,
                             struct err *err);

/* Writes the sum and the number of commits, then commits the transaction. */
enum err_kind writer_sql_commit(struct writer_sql_set *set, struct err *err);

/* Runs a query that returns one number; *out = 0 if it returns no row. */
enum err_kind writer_sql_number(struct writer_sql_set *set, enum writer_sql which, uint64_t *out,
                                struct err *err);

/* Drops an item and its children, with their facts, objects and delivery records. */
enum err_kind writer_sql_drop_item(struct writer_sql_set *set, uint64_t id, struct err *err);

/* Drops all rows. */
enum err_kind writer_sql_reset(struct writer_sql_set *set, struct err *err);

/* Inserts the item's row or replaces it. The functions below do the same for other rows, and each
 * adds the row's checksum. */
enum err_kind writer_sql_item(struct writer_sql_set *set, const struct row_item *item,
                              struct err *err);
/* Writes a fact's row. */
enum err_kind writer_sql_fact(struct writer_sql_set *set, const struct row_fact *fact,
                              struct err *err);
/* Writes the row of an object of a scope; o->digest must be the digest of its body. */
enum err_kind writer_sql_object(struct writer_sql_set *set, uint64_t scope,
                                const struct row_object *o, struct err *err);
/* Writes the row of a delivery record; m->last.digest must be the digest of its body. */
enum err_kind writer_sql_delivery(struct writer_sql_set *set, const struct row_delivery *m,
                                  struct err *err);

/* Drops the fact with this item, word and key. The functions below do the same for other rows; a
 * row that is not there is no error. */
enum err_kind writer_sql_drop_fact(struct writer_sql_set *set, const struct row_fact *fact,
                                   struct err *err);
/* Drops an object of a scope by its key. */
enum err_kind writer_sql_drop_object(struct writer_sql_set *set, uint64_t scope, struct str key,
                                     struct err *err);
/* Drops the delivery record with this source, key and uid. */
enum err_kind writer_sql_drop_delivery(struct writer_sql_set *set, const struct row_delivery *m,
                                       struct err *err);

#endif
