/* SPDX-License-Identifier: Apache-2.0 */
#include "state/loader.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>

#include <sqlite3.h>

#include "base/panic.h"
#include "state/commit_counter.h"
#include "state/db.h"
#include "state/schema.h"
#include "state/table_sum.h"

/* The check of all pages of the file, in a thread and on a connection of its own, while the loader
 * reads the rows (docs/decisions.md "Pages are checked while rows are read"). */
struct page_check {
    const struct folder *folder;
    pthread_t thread;
    bool is_beside; /* the check runs in `thread`; false: it ran in the call */
    atomic_bool has_failed;
    struct err err; /* belongs to the thread until it has ended */
};

/* One pass over all rows. */
struct pass {
    struct sqlite3 *db;
    const struct loader_sink *sink;
    void *arg;
    struct buf scratch;
    struct page_check page_check;
    uint64_t sum; /* of the rows read so far, as in struct table_sum */
};

/* ---- The check of the pages */

static enum err_kind check_pages(struct sqlite3 *db, struct err *err)
{
    struct sqlite3_stmt *stmt;

    /* integrity_check(1) stops at the first error, which is enough to give the file up. It returns
     * one row: "ok", or the error. It looks up each object in the index, and 4 MiB hold the index
     * of about 80 000 objects; with the 16 pages of DB_LOAD the check takes two and a half times as
     * long. */
    if (db_exec(db, "PRAGMA cache_size=-4096", err) != ERR_OK ||
        db_prepare(db, "PRAGMA integrity_check(1)", &stmt, err) != ERR_OK)
        return err->kind;
    int rc = sqlite3_step(stmt);
    enum err_kind kind = ERR_OK;
    if (rc != SQLITE_ROW)
        kind = db_fail(db, rc, err);
    else if (sqlite3_stricmp((const char *)sqlite3_column_text(stmt, 0), "ok") != 0)
        kind = err_set(err, ERR_PROTOCOL, 0, "it is damaged: %s", sqlite3_column_text(stmt, 0));
    sqlite3_finalize(stmt);
    return kind;
}

static void *check_in_thread(void *arg)
{
    struct page_check *c = arg;
    struct sqlite3 *db;
    enum err_kind kind = db_open(c->folder, DB_LOAD, &db, &c->err);

    if (kind == ERR_OK)
        kind = check_pages(db, &c->err);
    db_drop(&db);
    /* c->err is written before: end_page_check() reads it only after the thread has ended. */
    atomic_store(&c->has_failed, kind != ERR_OK);
    return NULL;
}

/* Nobody may write to the file until end_page_check(). If no thread can be started, the whole check
 * runs inside this call. */
static void start_page_check(struct page_check *c, const struct folder *f)
{
    sigset_t all;
    sigset_t before;

    *c = (struct page_check){.folder = f};
    sigfillset(&all);
    sigdelset(&all, SIGSYS); /* app/sandbox_calls: the thread gets it for a call of its own */
    pthread_sigmask(SIG_SETMASK, &all, &before); /* the new thread gets no other signals */
    c->is_beside = pthread_create(&c->thread, NULL, check_in_thread, c) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!c->is_beside)
        check_in_thread(c);
}

/* Waits for the result: ERR_PROTOCOL when the pages are damaged, ERR_IO when they cannot be read.
 * Rows that were read from the file before are sound only if this is ERR_OK. */
static enum err_kind end_page_check(struct page_check *c, struct err *err)
{
    if (c->is_beside)
        ensure(pthread_join(c->thread, NULL) == 0);
    if (!atomic_load(&c->has_failed))
        return ERR_OK;
    *err = c->err;
    return err->kind;
}

/* ---- Rows */

/* The columns of a row, read one after the other; n is the next one. */
struct columns {
    struct sqlite3_stmt *stmt;
    int n;
};

static uint64_t take_u64(struct columns *c)
{
    return (uint64_t)sqlite3_column_int64(c->stmt, c->n++);
}

/* The bytes of a blob or a text, as they are. SQLite wants the pointer to be asked for first, then
 * the length. */
static struct str take_bytes(struct columns *c)
{
    const char *p = sqlite3_column_blob(c->stmt, c->n);

    return str_of(p, (size_t)sqlite3_column_bytes(c->stmt, c->n++));
}

/* A key or a uid. The reader of objects (kube/object_scan.c) takes none with a NUL, and the rest of informerd
 * relies on that: such a row is damaged, or somebody has made it. */
static bool take_id(struct columns *c, struct str *id)
{
    *id = take_bytes(c);
    return id->n == 0 || memchr(id->p, '\0', id->n) == NULL;
}

/* False if the column is NULL. A digest of a wrong length is damage; it counts as absent here, and
 * then the row's checksum is wrong. */
static bool take_digest(struct columns *c, struct digest *d)
{
    struct str s = take_bytes(c);

    if (s.n == sizeof(*d))
        memcpy(d, s.p, sizeof(*d));
    return s.n == sizeof(*d);
}

/* A position in the body; NULL on disk is ROW_NOWHERE. */
static uint32_t take_place(struct columns *c)
{
    bool is_null = sqlite3_column_type(c->stmt, c->n) == SQLITE_NULL;
    uint64_t at = take_u64(c);

    return is_null ? ROW_NOWHERE : (uint32_t)at;
}

/* Whether the positions lie in the body, and the body has the digest of the row. The row's checksum
 * covers the digest, but not the body itself. */
static bool body_is_sound(const struct row_object *o)
{
    if (!o->whole)
        return true;
    return (o->rv_at == ROW_NOWHERE || o->rv_at <= o->body.n) &&
           (o->generation_at == ROW_NOWHERE || o->generation_at <= o->body.n) &&
           digest_eq(o->digest, digest_of(o->body.p, o->body.n));
}

static bool take_object(struct columns *c, struct row_object *o)
{
    bool sound = take_id(c, &o->uid);
    o->rv = take_bytes(c);
    o->generation = take_bytes(c);
    o->api_version = take_bytes(c);
    o->kind = take_bytes(c);
    o->rv_at = take_place(c);
    o->generation_at = take_place(c);
    sound = take_digest(c, &o->digest) && sound;
    /* A body that is NULL was not kept (persist); an empty one was. */
    o->whole = sqlite3_column_type(c->stmt, c->n) != SQLITE_NULL;
    o->body = take_bytes(c);
    return sound && body_is_sound(o);
}

/* Reads the row that the statement stands on and gives it to the sink. False: the row is
 * damaged. */
typedef bool row_reader(struct pass *p, struct sqlite3_stmt *stmt);

static bool read_item(struct pass *p, struct sqlite3_stmt *stmt)
{
    struct columns c = {stmt, 0};
    uint64_t sum = take_u64(&c);
    struct row_item item;

    item.id = take_u64(&c);
    item.kind = (enum row_kind)take_u64(&c);
    item.parent = take_u64(&c);
    item.name = take_bytes(&c);
    item.unused_since_s = take_u64(&c);
    if (sum != row_item_sum(&p->scratch, &item))
        return false;
    p->sink->on_item(p->arg, &item);
    return true;
}

static bool read_fact(struct pass *p, struct sqlite3_stmt *stmt)
{
    struct columns c = {stmt, 0};
    uint64_t sum = take_u64(&c);
    struct row_fact fact;

    fact.item = take_u64(&c);
    /* The checksum is over the word itself, so that the row of a word that this release does not
     * know can be checked. */
    struct str word = take_bytes(&c);
    fact.what = row_what_find(word);
    fact.key = take_bytes(&c);
    fact.value = take_bytes(&c);
    if (sum != row_fact_sum(&p->scratch, fact.item, word, fact.key, fact.value))
        return false;
    /* A later release may have written facts that this one does not know. They are sound, and left
     * where they are. */
    if (fact.what != ROW_WHATS)
        p->sink->on_fact(p->arg, &fact);
    return true;
}

static bool read_object(struct pass *p, struct sqlite3_stmt *stmt)
{
    struct columns c = {stmt, 0};
    uint64_t sum = take_u64(&c);
    uint64_t scope = take_u64(&c);
    struct row_object o;

    if (!take_id(&c, &o.key) || !take_object(&c, &o) ||
        sum != row_object_sum(&p->scratch, scope, &o))
        return false;
    p->sink->on_object(p->arg, scope, &o);
    return true;
}

static bool read_delivery(struct pass *p, struct sqlite3_stmt *stmt)
{
    struct columns c = {stmt, 0};
    uint64_t sum = take_u64(&c);
    struct row_delivery m;

    memset(&m, 0, sizeof(m));
    m.source = take_u64(&c);
    bool sound = take_id(&c, &m.key);
    sound = take_id(&c, &m.uid) && sound;
    m.is_handled = take_digest(&c, &m.handled);
    m.is_delivered = take_digest(&c, &m.delivered);
    m.attempted = take_u64(&c) != 0;
    m.is_ended = take_u64(&c) != 0;
    m.note = (uint32_t)take_u64(&c);
    /* Only a delivery record of an incarnation that has ended has a last state. */
    m.last.key = m.key;
    if (!sound || (m.is_ended && !take_object(&c, &m.last)) ||
        sum != row_delivery_sum(&p->scratch, &m))
        return false;
    p->sink->on_delivery(p->arg, &m);
    return true;
}

/* The row's checksum is the first column. Items come sorted by kind, so that parents come before
 * their children. The names of tables and columns are part of the file (state/schema.c says what
 * they mean). */
static const struct {
    const char *sql;
    row_reader *read;
} tables[] = {
    {"SELECT sum, id, kind, parent, name, unused_since FROM item ORDER BY kind", read_item  },
    {"SELECT sum, item, what, key, value FROM fact",                             read_fact  },
    {"SELECT sum, stream, key, uid, " SCHEMA_STATE_COLUMNS " FROM object",       read_object},
    {"SELECT sum, source, key, uid, handled, told, open, ended, note, "
     "last_uid, " SCHEMA_STATE_COLUMNS " FROM mark",
     read_delivery                                                                          },
};

/* Reads all rows of a table. The first column is the row's checksum, which counts in the sum over
 * all rows. Reading stops as soon as the check of the pages has failed: the rows are void then. */
static enum err_kind read_table(struct pass *p, const char *sql, row_reader *read, struct err *err)
{
    struct sqlite3_stmt *stmt;
    bool sound = true;
    int rc = SQLITE_ROW;

    if (db_prepare(p->db, sql, &stmt, err) != ERR_OK)
        return err->kind;
    while (sound && !atomic_load_explicit(&p->page_check.has_failed, memory_order_relaxed) &&
           (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        p->sum += (uint64_t)sqlite3_column_int64(stmt, 0);
        sound = read(p, stmt);
    }
    enum err_kind kind = ERR_OK;
    if (!sound)
        kind =
            err_set(err, ERR_PROTOCOL, 0, "it is damaged: a row has changed since it was written");
    else if (rc != SQLITE_DONE && rc != SQLITE_ROW)
        kind = db_fail(p->db, rc, err);
    sqlite3_finalize(stmt);
    return kind;
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

/* Reads the rows while a thread checks the pages; one after the other would take twice as long.
 * An error of the check counts before an error of a row: the damaged page is the cause. */
static enum err_kind read_checked(struct pass *p, const struct folder *f, struct err *err)
{
    struct err of_pages;

    start_page_check(&p->page_check, f);
    enum err_kind kind = ERR_OK;
    for (size_t i = 0; i < ARRAY_LEN(tables) && kind == ERR_OK; i++)
        kind = read_table(p, tables[i].sql, tables[i].read, err);
    if (kind == ERR_OK)
        kind = check_table_sum(p, f, err);
    if (end_page_check(&p->page_check, &of_pages) != ERR_OK) {
        *err = of_pages;
        kind = err->kind;
    }
    return kind;
}

/* ---- The file */

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

/* There is no state.db. If commits of this boot are noted, somebody deleted it, and the rest of it (its
 * log) is set aside. Else there has been no state yet, as far as anybody knows. */
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
