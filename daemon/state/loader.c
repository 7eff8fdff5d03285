/* SPDX-License-Identifier: Apache-2.0 */
#include "state/loader.h"

#include <errno.h>
#include <sys/stat.h>

#include <sqlite3.h>

#include "state/commit_counter.h"
#include "state/db.h"
#include "state/integrity_check.h"
#include "state/loader_row.h"
#include "state/schema.h"
#include "state/table_sum.h"

/* One pass over all rows. */
struct pass {
    struct sqlite3 *db;
    const struct loader_sink *sink;
    void *arg;
    struct buf scratch;
    struct integrity_check integrity_check;
    uint64_t sum; /* of the rows read so far, as in struct table_sum */
};

/* Reads the row that the statement stands on and gives it to the sink. False: the row is
 * damaged. */
typedef bool row_reader(struct pass *p, struct sqlite3_stmt *stmt);

static bool read_item(struct pass *p, struct sqlite3_stmt *stmt)
{
    struct row_item item;

    if (!loader_row_item(stmt, &p->scratch, &item))
        return false;
    p->sink->on_item(p->arg, &item);
    return true;
}

static bool read_fact(struct pass *p, struct sqlite3_stmt *stmt)
{
    struct row_fact fact;

    if (!loader_row_fact(stmt, &p->scratch, &fact))
        return false;
    /* A later release may have written facts that this one does not know. They are sound, and left
     * where they are. */
    if (fact.what != ROW_WHATS)
        p->sink->on_fact(p->arg, &fact);
    return true;
}

static bool read_object(struct pass *p, struct sqlite3_stmt *stmt)
{
    struct row_object o;
    uint64_t scope;

    if (!loader_row_object(stmt, &p->scratch, &scope, &o))
        return false;
    p->sink->on_object(p->arg, scope, &o);
    return true;
}

static bool read_delivery(struct pass *p, struct sqlite3_stmt *stmt)
{
    struct row_delivery m;

    if (!loader_row_delivery(stmt, &p->scratch, &m))
        return false;
    p->sink->on_delivery(p->arg, &m);
    return true;
}

/* Reads all rows of a table. The first column is the row's checksum, which counts in the sum over
 * all rows. Reading stops as soon as the check of the pages has failed: the rows are void then. */
static enum err_kind read_table(struct pass *p, const char *sql, row_reader *read, struct err *err)
{
    struct sqlite3_stmt *stmt;
    bool sound = true;
    int rc = SQLITE_ROW;

    if (db_prepare(p->db, sql, &stmt, err) != ERR_OK)
        return err->kind;
    while (sound && !integrity_check_has_failed(&p->integrity_check) &&
           (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        p->sum += (uint64_t)sqlite3_column_int64(stmt, 0);
        sound = read(p, stmt);
    }
    enum err_kind kind = ERR_OK;
    if (!sound)
        kind = err_set(err, ERR_PROTOCOL, 0, "it is damaged: a row is not what was written");
    else if (rc != SQLITE_DONE && rc != SQLITE_ROW)
        kind = db_fail(p->db, rc, err);
    sqlite3_finalize(stmt);
    return kind;
}

static enum err_kind read_tables(struct pass *p, struct err *err)
{
    if (read_table(p, LOADER_ROW_ITEMS, read_item, err) != ERR_OK ||
        read_table(p, LOADER_ROW_FACTS, read_fact, err) != ERR_OK ||
        read_table(p, LOADER_ROW_OBJECTS, read_object, err) != ERR_OK)
        return err->kind;
    return read_table(p, LOADER_ROW_DELIVERIES, read_delivery, err);
}

/* Each row may be sound, and yet some may be missing, or the whole file may be an older copy
 * (docs/decisions.md "Each commit writes a checksum over all rows"). commit_counter_set() then
 * takes over the number of the file, which may be higher than the noted one: the lock file is
 * written after the commit. */
static enum err_kind check_table_sum(struct pass *p, const struct folder *f, struct err *err)
{
    struct table_sum table_sum;

    if (table_sum_read(p->db, &table_sum, err) != ERR_OK)
        return err->kind;
    if (table_sum.sum != p->sum)
        return err_set(err, ERR_PROTOCOL, 0, "it is damaged: rows are missing");
    if (table_sum.commits < commit_counter_commits(f->commit_counter))
        return err_set(err, ERR_PROTOCOL, 0,
                       "it is older than the last write: its end is lost, or it is an older copy");
    commit_counter_set(f->commit_counter, table_sum.commits);
    return ERR_OK;
}

/* Reads the rows while a thread checks the pages; one after the other would take half as long
 * again. An error of the check counts before an error of a row: the damaged page is the cause. */
static enum err_kind read_checked(struct pass *p, const struct folder *f, struct err *err)
{
    struct err of_pages;

    integrity_check_start(&p->integrity_check, f);
    enum err_kind kind = read_tables(p, err);
    if (kind == ERR_OK)
        kind = check_table_sum(p, f, err);
    if (integrity_check_end(&p->integrity_check, &of_pages) != ERR_OK) {
        *err = of_pages;
        kind = err->kind;
    }
    return kind;
}

/* Brings the tables of an older release up to date, on a connection that may write. */
static enum err_kind upgrade(const struct folder *f, struct err *err)
{
    struct sqlite3 *db;

    if (db_open(f, DB_WRITE, &db, err) != ERR_OK)
        return err->kind;
    enum err_kind kind = schema_upgrade(db, err);
    db_close(&db);
    return kind;
}

/* Opens the file for reading. If its tables are older, it is closed, upgraded and opened again: no
 * connection of another mode may be open beside one for loading. */
static enum err_kind open_usable(const struct folder *f, struct sqlite3 **db,
                                 enum schema_found *found, struct err *err)
{
    if (db_open(f, DB_LOAD, db, err) != ERR_OK || schema_find(*db, found, err) != ERR_OK)
        return err->kind;
    if (*found != SCHEMA_OLD)
        return ERR_OK;
    db_drop(db);
    if (upgrade(f, err) != ERR_OK || db_open(f, DB_LOAD, db, err) != ERR_OK)
        return err->kind;
    return schema_find(*db, found, err);
}

static enum err_kind read_file(const struct folder *f, const struct loader_sink *sink, void *arg,
                               enum schema_found *found, struct err *err)
{
    struct pass p = {.sink = sink, .arg = arg};
    enum err_kind kind = open_usable(f, &p.db, found, err);

    if (kind == ERR_OK && *found == SCHEMA_USABLE)
        kind = read_checked(&p, f, err);
    db_drop(&p.db);
    buf_free(&p.scratch);
    return kind;
}

/* The file will never be usable: renames it, and adds both names to the text of the error. */
static enum loader_found set_aside(const struct folder *f, struct err *err)
{
    struct err why = *err;

    if (folder_set_aside(f, err) != ERR_OK)
        return LOADER_FAILED;
    err_set(err, ERR_PROTOCOL, why.code, "%s cannot be used, and is now %s: %s", f->db, f->aside,
            why.text);
    return LOADER_ASIDE;
}

/* There is no state.db. If commits of this boot are noted, somebody deleted it, and what is left of
 * it (its log) is set aside. Else there has been no state yet, as far as anybody knows. */
static enum loader_found nothing(const struct folder *f, struct err *err)
{
    if (commit_counter_commits(f->commit_counter) == 0)
        return LOADER_NOTHING;
    if (folder_set_aside(f, err) != ERR_OK)
        return LOADER_FAILED;
    err_set(err, ERR_PROTOCOL, 0, "%s is gone: somebody deleted it", f->db);
    return LOADER_ASIDE;
}

enum loader_found loader_read(const struct folder *f, const struct loader_sink *sink, void *arg,
                              struct err *err)
{
    enum schema_found found = SCHEMA_EMPTY;
    struct stat st;

    if (lstat(f->db, &st) != 0 && errno == ENOENT)
        return nothing(f, err);
    enum err_kind kind = read_file(f, sink, arg, &found, err);
    if (kind == ERR_OK && found == SCHEMA_USABLE)
        return LOADER_STATE;
    /* No commits are noted, so a file without tables is one whose process ended before its first
     * commit. */
    if (kind == ERR_OK && commit_counter_commits(f->commit_counter) == 0)
        return LOADER_NOTHING;
    if (kind == ERR_OK)
        kind = err_set(err, ERR_PROTOCOL, 0, "it is empty");
    if (kind == ERR_PROTOCOL)
        return set_aside(f, err);
    err_wrap(err, "%s cannot be read", f->db);
    return LOADER_FAILED;
}
