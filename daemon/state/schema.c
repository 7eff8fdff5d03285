/* SPDX-License-Identifier: Apache-2.0 */
#include "state/schema.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/compiler.h"
#include "state/db.h"

#define APPLICATION_ID 0x696e6664 /* "infd" */

/*
 * steps[v] makes version v + 1 of version v. The names of tables and columns are on disk, so they
 * keep older words: item, fact and object are the rows of state/row.h; object.stream is the id of a
 * scope; mark has the delivery records (told: delivered, open: attempted); total has the one row of
 * state/table_sum.
 *
 * Bodies are the bulk of the file. Therefore object has rowids: such rows hold a small body in the
 * page itself, and the few bytes by which a row is found are in an index.
 */
static const char *const steps[] = {
    "CREATE TABLE item(id INTEGER PRIMARY KEY, kind INTEGER NOT NULL, parent INTEGER NOT NULL,"
    " name TEXT NOT NULL, unused_since INTEGER NOT NULL, sum INTEGER NOT NULL);"
    "CREATE TABLE fact(item INTEGER NOT NULL, what TEXT NOT NULL, key TEXT NOT NULL,"
    " value BLOB NOT NULL, sum INTEGER NOT NULL, PRIMARY KEY(item, what, key)) WITHOUT ROWID;"
    "CREATE TABLE object(id INTEGER PRIMARY KEY, stream INTEGER NOT NULL, key TEXT NOT NULL,"
    " uid TEXT NOT NULL, rv TEXT NOT NULL, generation TEXT NOT NULL, api_version TEXT NOT NULL,"
    " kind TEXT NOT NULL, rv_at INTEGER, generation_at INTEGER, digest BLOB NOT NULL,"
    " sum INTEGER NOT NULL, body BLOB, UNIQUE(stream, key));"
    "CREATE TABLE mark(source INTEGER NOT NULL, key TEXT NOT NULL, uid TEXT NOT NULL,"
    " handled BLOB, told BLOB, open INTEGER NOT NULL, ended INTEGER NOT NULL,"
    " note INTEGER NOT NULL, sum INTEGER NOT NULL, last_uid TEXT, rv TEXT, generation TEXT,"
    " api_version TEXT, kind TEXT, rv_at INTEGER, generation_at INTEGER, digest BLOB, body BLOB,"
    " PRIMARY KEY(source, key, uid)) WITHOUT ROWID;"
    "CREATE TABLE total(id INTEGER PRIMARY KEY, sum INTEGER NOT NULL, commits INTEGER NOT NULL);",
};

enum {
    VERSION = ARRAY_LEN(steps),
    OLDEST_READER = 1, /* for VERSION: see schema.h */
};

static enum err_kind not_ours(struct err *err)
{
    return err_set(err, ERR_PROTOCOL, 0, "it is a file of another program");
}

/* A file without informerd's application_id is informerd's only if it has no tables yet. */
static enum err_kind look_inside(struct sqlite3 *db, enum schema_found *found, struct err *err)
{
    int64_t tables;

    if (db_number(db, "SELECT count(*) FROM sqlite_master", &tables, err) != ERR_OK)
        return err->kind;
    *found = SCHEMA_EMPTY;
    return tables == 0 ? ERR_OK : not_ours(err);
}

enum err_kind schema_find(struct sqlite3 *db, enum schema_found *found, struct err *err)
{
    int64_t application;
    int64_t version;

    if (db_number(db, "PRAGMA application_id", &application, err) != ERR_OK ||
        db_number(db, "PRAGMA user_version", &version, err) != ERR_OK)
        return err->kind;
    if (application == 0)
        return look_inside(db, found, err);
    if (application != APPLICATION_ID)
        return not_ours(err);
    /* The upper half is the oldest version that can use the file: a newer release that left it
     * readable passes. */
    if (version < 0 || version >> 16 > VERSION)
        return err_set(err, ERR_PROTOCOL, 0,
                       "it was written by a newer release of informerd (version %" PRId64
                       " of the tables, this one reads %d)",
                       version & 0xffff, (int)VERSION);
    *found = (version & 0xffff) < VERSION ? SCHEMA_OLD : SCHEMA_USABLE;
    return ERR_OK;
}

static enum err_kind run_steps(struct sqlite3 *db, int64_t from, struct err *err)
{
    char sql[128];

    for (size_t v = (size_t)from; v < VERSION; v++)
        if (db_exec(db, steps[v], err) != ERR_OK)
            return err->kind;
    /* Both numbers are written in the same transaction as the tables: a kill leaves either the old
     * file or the new one. */
    snprintf(sql, sizeof(sql), "PRAGMA application_id=%d; PRAGMA user_version=%d; COMMIT",
             APPLICATION_ID, OLDEST_READER << 16 | VERSION);
    return db_exec(db, sql, err);
}

enum err_kind schema_upgrade(struct sqlite3 *db, struct err *err)
{
    enum schema_found found = SCHEMA_EMPTY;
    int64_t version;

    if (schema_find(db, &found, err) != ERR_OK)
        return err->kind;
    if (found == SCHEMA_USABLE)
        return ERR_OK;
    if (db_number(db, "PRAGMA user_version", &version, err) != ERR_OK ||
        db_exec(db, "BEGIN IMMEDIATE", err) != ERR_OK)
        return err->kind;
    return run_steps(db, found == SCHEMA_EMPTY ? 0 : version & 0xffff, err);
}
