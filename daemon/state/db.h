/* SPDX-License-Identifier: Apache-2.0 */
/*
 * db - connections to the database file of the state (state.db), and SQLite's errors as struct err;
 * driver of SQLite. The lock of the folder (state/folder) keeps other informerds out, so SQLite's
 * own locks only keep the writer's and the syncer's connections apart.
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
    DB_LOAD,  /* reads only and takes no locks, so it works on a full or read-only disk; no
                 connection of another mode may be open beside it */
    DB_WRITE, /* reads and writes; makes the file if it is missing */
    DB_SYNC,  /* makes checkpoints, beside a DB_WRITE connection */
};

/* Opens state.db. Release with db_close() or db_drop(); NULL after an error.
 *
 * Errors of all functions here: ERR_PROTOCOL: the file is no usable state of informerd and never
 * will be, so set it aside. ERR_BUSY: another process uses the file. ERR_IO: the file cannot be
 * used now; the text says why and what to do. */
enum err_kind db_open(const struct folder *f, enum db_mode mode, struct sqlite3 **out,
                      struct err *err) MUST_CHECK;

/* Closes the connection and sets *db to NULL. NULL is fine. If it is the last DB_WRITE or DB_SYNC
 * connection, SQLite moves the whole log into state.db and syncs the file. */
void db_close(struct sqlite3 **db);

/* Closes the connection as a kill would: without a checkpoint or sync. An open transaction is
 * rolled back. Sets *db to NULL; NULL is fine. */
void db_drop(struct sqlite3 **db);

/* Runs one or more statements that have no parameters, and ignores the rows they return. */
enum err_kind db_exec(struct sqlite3 *db, const char *sql, struct err *err) MUST_CHECK;

/* Compiles a statement that is used many times. db_close() and db_drop() release it, too. */
enum err_kind db_prepare(struct sqlite3 *db, const char *sql, struct sqlite3_stmt **out,
                         struct err *err) MUST_CHECK;

/* Runs a statement that returns no rows, with the values that are bound to it, and resets it. */
enum err_kind db_run(struct sqlite3 *db, struct sqlite3_stmt *stmt, struct err *err) MUST_CHECK;

/* Runs a query that returns one number; *out = 0 if it returns no row. */
enum err_kind db_number(struct sqlite3 *db, const char *sql, int64_t *out,
                        struct err *err) MUST_CHECK;

/* Whether the name state.db still belongs to the file that is open: false if somebody deleted,
 * renamed or replaced it. */
bool db_is_in_place(struct sqlite3 *db);

/* Sets *err, and returns its kind, for an error of SQLite; rc is the code that SQLite returned.
 * Call it before anything else changes errno. Misuse and lack of memory abort. */
enum err_kind db_fail(struct sqlite3 *db, int rc, struct err *err);

#endif
