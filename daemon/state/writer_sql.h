/* SPDX-License-Identifier: Apache-2.0 */
/*
 * writer_sql - the writer's statements, and rows as their values; for writer.c and writer_limit.c.
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
    WRITER_SQL_COMMIT, /* by writer_sql_commit() only */
    WRITER_SQL_TOTAL,  /* the same */
    WRITER_SQL_ITEM,
    WRITER_SQL_FACT,
    WRITER_SQL_DROP_FACT,
    WRITER_SQL_OBJECT,
    WRITER_SQL_DROP_OBJECT,
    WRITER_SQL_CLEAR,
    WRITER_SQL_DELIVERY,
    WRITER_SQL_DROP_DELIVERY,
    WRITER_SQL_UNUSED,  /* the item that has been unused longest */
    WRITER_SQL_LARGEST, /* the stream with most bytes in bodies */
    WRITER_SQL_COUNT,
};

/* A connection that writes, its statements, and room for packing. */
struct writer_sql_set {
    struct sqlite3 *db;
    struct sqlite3_stmt *v[WRITER_SQL_COUNT];
    struct buf scratch;
    struct table_sum table_sum; /* as of the open transaction */
};

/* Prepares all, and begins to follow the total; they end with the connection. */
enum err_kind writer_sql_prepare(struct writer_sql_set *set, struct err *err);

/* A statement without rows; value is what it is about, if it has one. */
enum err_kind writer_sql_run(struct writer_sql_set *set, enum writer_sql which, uint64_t value,
                             struct err *err);

/* Ends the transaction, with its total. */
enum err_kind writer_sql_commit(struct writer_sql_set *set, struct err *err);

/* The number that a query gives; 0 = no row. */
enum err_kind writer_sql_number(struct writer_sql_set *set, enum writer_sql which, uint64_t *out,
                                struct err *err);

/* Forgets an item with all below it. */
enum err_kind writer_sql_drop_item(struct writer_sql_set *set, uint64_t id, struct err *err);

/* Forgets everything. */
enum err_kind writer_sql_reset(struct writer_sql_set *set, struct err *err);

/* Writes a row. */
enum err_kind writer_sql_item(struct writer_sql_set *set, const struct row_item *item,
                              struct err *err);
/* See above. */
enum err_kind writer_sql_fact(struct writer_sql_set *set, const struct row_fact *fact,
                              struct err *err);
/* See above. */
enum err_kind writer_sql_object(struct writer_sql_set *set, uint64_t scope,
                                const struct row_object *o, struct err *err);
/* See above. */
enum err_kind writer_sql_delivery(struct writer_sql_set *set, const struct row_delivery *m,
                                  struct err *err);

/* Drops a row. */
enum err_kind writer_sql_drop_fact(struct writer_sql_set *set, const struct row_fact *fact,
                                   struct err *err);
/* See above. */
enum err_kind writer_sql_drop_object(struct writer_sql_set *set, uint64_t scope, struct str key,
                                     struct err *err);
/* See above. */
enum err_kind writer_sql_drop_delivery(struct writer_sql_set *set, const struct row_delivery *m,
                                       struct err *err);

#endif
