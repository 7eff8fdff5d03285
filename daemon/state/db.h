/* SPDX-License-Identifier: Apache-2.0 */
/*
 * db - a connection to the file of the state, and its errors as struct err; driver of SQLite. Other
 * processes are kept out by the lock of the folder, so SQLite's own locks need only keep our two
 * connections apart.
 */
#ifndef STATE_DB_H
#define STATE_DB_H

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/err.h"
#include "base/str.h"
#include "state/folder.h"

struct sqlite3;
struct sqlite3_stmt;

enum db_mode {
    DB_LOAD,  /* writes nothing at all and takes no locks: works on a full or read-only disk, too;
                 the only connection while it lasts */
    DB_WRITE, /* makes the file if it is missing */
    DB_SYNC,  /* beside one that writes */
};

/* Errors of all functions: ERR_PROTOCOL: this is no usable state of ours, and never will be (set it
 * aside). ERR_BUSY: another process uses the file. ERR_IO: it does not work now; the text says why,
 * and what to do. */
enum err_kind db_open(const struct folder *f, enum db_mode mode, struct sqlite3 **out,
                      struct err *err) MUST_CHECK;

/* Closes it and sets *db to NULL. NULL is fine. The last one of DB_WRITE and DB_SYNC brings all into
 * the one file, and syncs it. */
void db_close(struct sqlite3 **db);

/* Closes it as a kill would: nothing is written or synced. NULL is fine. */
void db_drop(struct sqlite3 **db);

/* Statements without a result, and without values. */
enum err_kind db_exec(struct sqlite3 *db, const char *sql, struct err *err) MUST_CHECK;

/* A statement for many uses. */
enum err_kind db_prepare(struct sqlite3 *db, const char *sql, struct sqlite3_stmt **out,
                         struct err *err) MUST_CHECK;

/* Runs a statement that gives no rows, with the values it has. */
enum err_kind db_run(struct sqlite3 *db, struct sqlite3_stmt *stmt, struct err *err) MUST_CHECK;

/* The one number that a query gives. */
enum err_kind db_number(struct sqlite3 *db, const char *sql, int64_t *out,
                        struct err *err) MUST_CHECK;

/* Is the file that is open still the one under its name? */
bool db_is_in_place(struct sqlite3 *db);

/* What SQLite's last error means; rc is what it returned. */
enum err_kind db_fail(struct sqlite3 *db, int rc, struct err *err);

#endif
