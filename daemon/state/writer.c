/* SPDX-License-Identifier: Apache-2.0 */
#include "state/writer.h"

#include <stdlib.h>

#include <sqlite3.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "state/commit_counter.h"
#include "state/db.h"
#include "state/schema.h"
#include "state/table_sum.h"

enum statement {
    SQL_BEGIN,
    SQL_COMMIT, /* only commit() runs this one */
    SQL_TOTAL,  /* and this one: it writes the row of table_sum */
    SQL_ITEM,
    SQL_FACT,
    SQL_DROP_FACT,
    SQL_OBJECT,
    SQL_DROP_OBJECT,
    SQL_CLEAR,
    SQL_DELIVERY,
    SQL_DROP_DELIVERY,
    SQL_UNUSED,  /* the cluster, watch or hook that has been unused longest */
    SQL_LARGEST, /* the scope whose bodies have most bytes */
    SQL_COUNT,
};

/* The measures that keep the file below its limit. */
struct limit {
    uint64_t bytes;
    uint64_t written;  /* since the size was last looked at */
    uint64_t *starved; /* ids of scopes that keep no objects */
    size_t starved_count;
    size_t dropped_items; /* since the file was begun */
};

struct writer {
    const struct folder *folder;
    struct sqlite3 *db; /* NULL: not open */
    struct sqlite3_stmt *v[SQL_COUNT];
    struct buf scratch;         /* for packing rows */
    struct table_sum table_sum; /* including the changes of the open transaction */
    struct limit limit;
    unsigned wal_pages;
};

/* For a new file: all scopes keep objects again. The limit stays. */
static void reset_limit(struct limit *l)
{
    free(l->starved);
    *l = (struct limit){.bytes = l->bytes};
}

struct writer *writer_create(const struct folder *folder, uint64_t limit)
{
    return MEM_NEW(struct writer, .folder = folder, .limit = {.bytes = limit});
}

void writer_destroy(struct writer **wp)
{
    struct writer *w = *wp;

    if (w == NULL)
        return;
    *wp = NULL;
    db_drop(&w->db);
    buf_free(&w->scratch);
    reset_limit(&w->limit);
    free(w);
}

/* ---- Statements, and rows as values of their parameters */

/* Takes over SCHEMA_STATE_COLUMNS. */
#define SET_STATE                                                                       \
    "rv=excluded.rv, generation=excluded.generation, api_version=excluded.api_version," \
    " kind=excluded.kind, rv_at=excluded.rv_at, generation_at=excluded.generation_at,"  \
    " digest=excluded.digest, body=excluded.body"

/* Inserts end in ON CONFLICT DO UPDATE, not in INSERT OR REPLACE: the latter would delete the old
 * row without the delete trigger by which table_sum follows the sum. UNUSED looks at clusters (1),
 * watches (2) and hooks (4): scopes and sources go with their parents. state/schema.c explains the
 * names of tables and columns. */
static const char *const sql[] = {
    [SQL_BEGIN] = "BEGIN IMMEDIATE",
    [SQL_COMMIT] = "COMMIT",
    [SQL_TOTAL] = "INSERT INTO total(id, sum, commits) VALUES(1,?,?) ON CONFLICT(id)"
                  " DO UPDATE SET sum=excluded.sum, commits=excluded.commits",
    [SQL_ITEM] = "INSERT INTO item(id, kind, parent, name, unused_since, sum)"
                 " VALUES(?,?,?,?,?,?) ON CONFLICT(id) DO UPDATE SET kind=excluded.kind,"
                 " parent=excluded.parent, name=excluded.name,"
                 " unused_since=excluded.unused_since, sum=excluded.sum",
    [SQL_FACT] = "INSERT INTO fact(item, what, key, value, sum) VALUES(?,?,?,?,?)"
                 " ON CONFLICT(item, what, key)"
                 " DO UPDATE SET value=excluded.value, sum=excluded.sum",
    [SQL_DROP_FACT] = "DELETE FROM fact WHERE item=? AND what=? AND key=?",
    [SQL_OBJECT] =
        "INSERT INTO object(stream, key, sum, uid, " SCHEMA_STATE_COLUMNS
        ") VALUES(?,?,?,?,?,?,?,?,?,?,?,?)"
        " ON CONFLICT(stream, key) DO UPDATE SET sum=excluded.sum, uid=excluded.uid, " SET_STATE,
    [SQL_DROP_OBJECT] = "DELETE FROM object WHERE stream=? AND key=?",
    [SQL_CLEAR] = "DELETE FROM object WHERE stream=?",
    [SQL_DELIVERY] =
        "INSERT INTO mark(source, key, uid, sum, handled, told, open, ended, note,"
        " last_uid, " SCHEMA_STATE_COLUMNS ")"
        " VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"
        " ON CONFLICT(source, key, uid) DO UPDATE SET sum=excluded.sum, handled=excluded.handled,"
        " told=excluded.told, open=excluded.open, ended=excluded.ended, note=excluded.note,"
        " last_uid=excluded.last_uid, " SET_STATE,
    [SQL_DROP_DELIVERY] = "DELETE FROM mark WHERE source=? AND key=? AND uid=?",
    [SQL_UNUSED] = "SELECT id FROM item WHERE unused_since > 0 AND kind IN (1, 2, 4)"
                   " ORDER BY unused_since LIMIT 1",
    [SQL_LARGEST] = "SELECT stream FROM object WHERE body IS NOT NULL GROUP BY stream"
                    " ORDER BY sum(length(body)) DESC LIMIT 1",
};

/* The parameters of a statement, bound one after the other; n is the last one. Bytes that they
 * point to are not copied, and must stay until the statement has run. */
struct values {
    struct sqlite3_stmt *stmt;
    int n;
};

static void put_u64(struct values *v, uint64_t number)
{
    sqlite3_bind_int64(v->stmt, ++v->n, (int64_t)number);
}

static void put_null(struct values *v)
{
    sqlite3_bind_null(v->stmt, ++v->n);
}

/* An empty string is not NULL: SQLite takes a NULL pointer for NULL. */
static void put_str(struct values *v, struct str s)
{
    sqlite3_bind_text64(v->stmt, ++v->n, s.n > 0 ? s.p : "", s.n, SQLITE_STATIC, SQLITE_UTF8);
}

static void put_blob(struct values *v, struct str s)
{
    sqlite3_bind_blob64(v->stmt, ++v->n, s.n > 0 ? s.p : "", s.n, SQLITE_STATIC);
}

/* A digest is copied (SQLITE_TRANSIENT), as d is gone when this function returns. */
static void put_digest(struct values *v, bool there, struct digest d)
{
    if (there)
        sqlite3_bind_blob(v->stmt, ++v->n, &d, sizeof(d), SQLITE_TRANSIENT);
    else
        put_null(v);
}

static void put_place(struct values *v, uint32_t at)
{
    if (at == ROW_NOWHERE)
        put_null(v);
    else
        put_u64(v, at);
}

static void put_state(struct values *v, const struct row_object *o)
{
    put_str(v, o->uid);
    put_str(v, o->rv);
    put_str(v, o->generation);
    put_str(v, o->api_version);
    put_str(v, o->kind);
    put_place(v, o->rv_at);
    put_place(v, o->generation_at);
    put_digest(v, true, o->digest);
    if (o->whole)
        put_blob(v, o->body);
    else
        put_null(v);
}

/* Runs a statement that returns no rows. value is bound to its first parameter, if it has one. */
static enum err_kind run(struct writer *w, enum statement which, uint64_t value, struct err *err)
{
    if (sqlite3_bind_parameter_count(w->v[which]) > 0)
        sqlite3_bind_int64(w->v[which], 1, (int64_t)value);
    return db_run(w->db, w->v[which], err);
}

/* Writes the sum and the number of commits, then commits the transaction. */
static enum err_kind commit(struct writer *w, struct err *err)
{
    struct values v = {w->v[SQL_TOTAL], 0};

    put_u64(&v, w->table_sum.sum);
    put_u64(&v, ++w->table_sum.commits);
    if (db_run(w->db, v.stmt, err) != ERR_OK)
        return err->kind;
    return run(w, SQL_COMMIT, 0, err);
}

/* Runs a query that returns one number; *out = 0 if it returns no row. */
static enum err_kind read_number(struct writer *w, enum statement which, uint64_t *out,
                                 struct err *err)
{
    int rc = sqlite3_step(w->v[which]);
    enum err_kind kind = ERR_OK;

    *out = rc == SQLITE_ROW ? (uint64_t)sqlite3_column_int64(w->v[which], 0) : 0;
    if (rc != SQLITE_ROW && rc != SQLITE_DONE)
        kind = db_fail(w->db, rc, err);
    sqlite3_reset(w->v[which]);
    return kind;
}

/* Drops an item and its children, with their facts, objects and delivery records. */
static enum err_kind drop_item(struct writer *w, uint64_t id, struct err *err)
{
    char text[512];

    /* All rows are found by the item's id, as the item's own row may be missing when the item came
     * and goes in the same batch. Table item is last: the statements before it look up the children
     * there. */
    sqlite3_snprintf(
        sizeof(text), text,
        "DELETE FROM object WHERE stream=%lld OR stream IN (SELECT id FROM item WHERE parent=%lld);"
        "DELETE FROM mark WHERE source=%lld OR source IN (SELECT id FROM item WHERE parent=%lld);"
        "DELETE FROM fact WHERE item=%lld OR item IN (SELECT id FROM item WHERE parent=%lld);"
        "DELETE FROM item WHERE id=%lld OR parent=%lld",
        id, id, id, id, id, id, id, id);
    return db_exec(w->db, text, err);
}

static enum err_kind drop_all(struct writer *w, struct err *err)
{
    static const char all[] =
        "DELETE FROM item; DELETE FROM fact; DELETE FROM object; DELETE FROM mark";

    if (db_exec(w->db, all, err) != ERR_OK)
        return err->kind;
    w->table_sum.sum = 0; /* also if it did not match the rows before */
    return ERR_OK;
}

static enum err_kind put_item(struct writer *w, const struct row_item *item, struct err *err)
{
    struct values v = {w->v[SQL_ITEM], 0};

    put_u64(&v, item->id);
    put_u64(&v, item->kind);
    put_u64(&v, item->parent);
    put_str(&v, item->name);
    put_u64(&v, item->unused_since_s);
    put_u64(&v, row_item_sum(&w->scratch, item));
    return db_run(w->db, v.stmt, err);
}

static bool is_starved(const struct writer *w, uint64_t scope)
{
    for (size_t i = 0; i < w->limit.starved_count; i++)
        if (w->limit.starved[i] == scope)
            return true;
    return false;
}

/* A scope without objects has nothing to resume on: a watch from its resourceVersion would never
 * bring the objects that were dropped. */
static enum err_kind put_fact(struct writer *w, const struct row_fact *fact, struct err *err)
{
    struct values v = {w->v[SQL_FACT], 0};
    struct str word = str_c(row_what_name(fact->what));

    if (fact->what == ROW_VERSION && is_starved(w, fact->item))
        return ERR_OK;
    put_u64(&v, fact->item);
    put_str(&v, word);
    put_str(&v, fact->key);
    put_blob(&v, fact->value);
    put_u64(&v, row_fact_sum(&w->scratch, fact->item, word, fact->key, fact->value));
    return db_run(w->db, v.stmt, err);
}

/* The digests of bodies are computed here, in the worker thread, so that hashing does not hold up
 * the event loop. */
static enum err_kind put_object(struct writer *w, uint64_t scope, struct row_object *o,
                                struct err *err)
{
    struct values v = {w->v[SQL_OBJECT], 0};

    if (is_starved(w, scope))
        return ERR_OK;
    if (o->whole)
        o->digest = digest_of(o->body.p, o->body.n);
    put_u64(&v, scope);
    put_str(&v, o->key);
    put_u64(&v, row_object_sum(&w->scratch, scope, o));
    put_state(&v, o);
    return db_run(w->db, v.stmt, err);
}

static enum err_kind put_delivery(struct writer *w, struct row_delivery *m, struct err *err)
{
    struct values v = {w->v[SQL_DELIVERY], 0};

    /* Those of the last state are bound for an end only. */
    sqlite3_clear_bindings(v.stmt);
    if (m->is_ended && m->last.whole)
        m->last.digest = digest_of(m->last.body.p, m->last.body.n);
    put_u64(&v, m->source);
    put_str(&v, m->key);
    put_str(&v, m->uid);
    put_u64(&v, row_delivery_sum(&w->scratch, m));
    put_digest(&v, m->is_handled, m->handled);
    put_digest(&v, m->is_delivered, m->delivered);
    put_u64(&v, m->attempted);
    put_u64(&v, m->is_ended);
    put_u64(&v, m->note);
    if (m->is_ended)
        put_state(&v, &m->last);
    return db_run(w->db, v.stmt, err);
}

static enum err_kind drop_fact(struct writer *w, const struct row_fact *fact, struct err *err)
{
    struct values v = {w->v[SQL_DROP_FACT], 0};

    put_u64(&v, fact->item);
    put_str(&v, str_c(row_what_name(fact->what)));
    put_str(&v, fact->key);
    return db_run(w->db, v.stmt, err);
}

static enum err_kind drop_object(struct writer *w, uint64_t scope, struct str key, struct err *err)
{
    struct values v = {w->v[SQL_DROP_OBJECT], 0};

    put_u64(&v, scope);
    put_str(&v, key);
    return db_run(w->db, v.stmt, err);
}

static enum err_kind drop_delivery(struct writer *w, const struct row_delivery *m, struct err *err)
{
    struct values v = {w->v[SQL_DROP_DELIVERY], 0};

    put_u64(&v, m->source);
    put_str(&v, m->key);
    put_str(&v, m->uid);
    return db_run(w->db, v.stmt, err);
}

/* ---- The limit */

/* Looking at the size costs more than writing one delivery record, so it is done once per 256
 * KiB. */
enum { LOOK_EVERY = 256 << 10 };

/* The size without free pages: SQLite uses these again before the file grows. */
static enum err_kind size_of(struct writer *w, uint64_t *out, struct err *err)
{
    int64_t pages;
    int64_t free_pages;
    int64_t page_size;

    if (db_number(w->db, "PRAGMA page_count", &pages, err) != ERR_OK ||
        db_number(w->db, "PRAGMA freelist_count", &free_pages, err) != ERR_OK ||
        db_number(w->db, "PRAGMA page_size", &page_size, err) != ERR_OK)
        return err->kind;
    *out = (uint64_t)(pages - free_pages) * (uint64_t)page_size;
    return ERR_OK;
}

/* Drops the objects of a scope and its resourceVersion, and notes that the scope keeps none from
 * now on: otherwise the objects would come back with their next changes, and half a cache would
 * look like a whole one. */
static enum err_kind starve(struct writer *w, uint64_t scope, struct err *err)
{
    const struct row_fact version = {.item = scope, .what = ROW_VERSION};

    w->limit.starved =
        mem_realloc(w->limit.starved, (w->limit.starved_count + 1) * sizeof(*w->limit.starved));
    w->limit.starved[w->limit.starved_count++] = scope;
    if (run(w, SQL_CLEAR, scope, err) != ERR_OK)
        return err->kind;
    return drop_fact(w, &version, err);
}

/* Drops the item that has been unused longest, or if there is none the objects of the largest
 * scope. Runs inside a transaction. *more = false: there is nothing left to drop. */
static enum err_kind drop_one(struct writer *w, bool *more, struct err *err)
{
    uint64_t id;

    *more = true;
    if (read_number(w, SQL_UNUSED, &id, err) != ERR_OK)
        return err->kind;
    if (id != 0) {
        w->limit.dropped_items++;
        return drop_item(w, id, err);
    }
    if (read_number(w, SQL_LARGEST, &id, err) != ERR_OK)
        return err->kind;
    *more = id != 0;
    return id != 0 ? starve(w, id, err) : ERR_OK;
}

/* Drops rows until the file is at most at 90 % of its limit, so that the next change does not bring
 * it over the limit again. */
static enum err_kind drop_some(struct writer *w, struct err *err)
{
    uint64_t size = UINT64_MAX;
    bool more = true;

    while (more && size > w->limit.bytes / 10 * 9)
        if (drop_one(w, &more, err) != ERR_OK || size_of(w, &size, err) != ERR_OK)
            return err->kind;
    return commit(w, err);
}

/* Adds `written` bytes of a transaction. Once enough came together it looks at the size of the file,
 * and if that is over the limit it drops rows as writer.h says, in a transaction of its own. After
 * an error one may be open, so the connection must be closed. */
static enum err_kind check_limit(struct writer *w, uint64_t written, struct err *err)
{
    uint64_t size = 0;

    w->limit.written += written;
    if (w->limit.written < LOOK_EVERY)
        return ERR_OK;
    w->limit.written = 0;
    if (size_of(w, &size, err) != ERR_OK)
        return err->kind;
    if (size <= w->limit.bytes)
        return ERR_OK;
    if (run(w, SQL_BEGIN, 0, err) != ERR_OK)
        return err->kind;
    size_t items = w->limit.dropped_items;
    size_t scopes = w->limit.starved_count;
    if (drop_some(w, err) == ERR_OK)
        return ERR_OK;
    w->limit.dropped_items = items; /* the rollback brings the rows back */
    w->limit.starved_count = scopes;
    return err->kind;
}

/* ---- Batches */

/* SQLite's hook behind each commit: pages is the length of the log. */
static int on_commit(void *arg, struct sqlite3 *db, const char *name, int pages)
{
    struct writer *w = arg;

    (void)db;
    (void)name;
    w->wal_pages = (unsigned)pages;
    return SQLITE_OK;
}

/* Opens the file and makes its tables if it has none. A file without tables may be the rest of one that
 * was cut off, and a file with fewer commits may be an older copy that somebody put in its place:
 * neither is the file that was written before, and the changes of one batch would look like a complete
 * state in it. */
static enum err_kind open_file(struct writer *w, struct err *err)
{
    if (w->db != NULL)
        return ERR_OK;
    if (db_open(w->folder, DB_WRITE, &w->db, err) != ERR_OK)
        return err->kind;
    sqlite3_wal_hook(w->db, on_commit, w);
    if (schema_upgrade(w->db, err) != ERR_OK)
        return err->kind;
    if (table_sum_follow(w->db, &w->table_sum, err) != ERR_OK)
        return err->kind;
    for (size_t i = 0; i < SQL_COUNT; i++)
        if (db_prepare(w->db, sql[i], &w->v[i], err) != ERR_OK)
            return err->kind;
    if (w->table_sum.commits < commit_counter_commits(w->folder->commit_counter))
        return err_set(err, ERR_PROTOCOL, 0, "state.db is not the file that was written before");
    return ERR_OK;
}

static enum err_kind apply_op(struct writer *w, struct batch_op *op, struct err *err)
{
    switch (op->what) {
    case BATCH_RESET:
        return drop_all(w, err);
    case BATCH_ITEM:
        return put_item(w, &op->u.item, err);
    case BATCH_DROP_ITEM:
        return drop_item(w, op->id, err);
    case BATCH_FACT:
        return put_fact(w, &op->u.fact, err);
    case BATCH_DROP_FACT:
        return drop_fact(w, &op->u.fact, err);
    case BATCH_OBJECT:
        return put_object(w, op->id, &op->u.object, err);
    case BATCH_DROP_OBJECT:
        return drop_object(w, op->id, op->u.object.key, err);
    case BATCH_CLEAR:
        return run(w, SQL_CLEAR, op->id, err);
    case BATCH_DELIVERY:
        return put_delivery(w, &op->u.delivery, err);
    case BATCH_DROP_DELIVERY:
        return drop_delivery(w, &op->u.delivery, err);
    }
    return ERR_OK;
}

static enum err_kind apply_all(struct writer *w, const struct batch *b, struct err *err)
{
    struct batch_op op;
    size_t at = 0;

    if (open_file(w, err) != ERR_OK || run(w, SQL_BEGIN, 0, err) != ERR_OK)
        return err->kind;
    while (batch_next(b, &at, &op))
        if (apply_op(w, &op, err) != ERR_OK)
            return err->kind;
    return commit(w, err);
}

/* Checks that state.db still names the file that was written; a commit to a file without a name
 * would be lost at the next start (docs/decisions.md "A commit counts only if state.db still names
 * the file"). Only then is the commit counted in the lock file. */
static enum err_kind check_place(struct writer *w, struct err *err)
{
    if (db_is_in_place(w->db)) {
        commit_counter_set(w->folder->commit_counter, w->table_sum.commits);
        return ERR_OK;
    }
    return err_set(err, ERR_NOT_FOUND, 0,
                   "somebody deleted state.db, or put another file in its place");
}

/* Closes the connection after an error, which also rolls back an open transaction. */
static void close_failed(struct writer *w)
{
    db_drop(&w->db);
    w->wal_pages = 0;
}

enum err_kind writer_apply(struct writer *w, const struct batch *b, struct writer_report *report,
                           struct err *err)
{
    size_t items = w->limit.dropped_items;
    size_t scopes = w->limit.starved_count;
    struct err ignored;

    *report = (struct writer_report){0};
    if (apply_all(w, b, err) != ERR_OK || check_place(w, err) != ERR_OK) {
        close_failed(w);
        return err->kind;
    }
    /* The batch is committed, so an error here is no error of the batch. The limit is checked again
     * after the next 256 KiB. check_limit() may have made a commit of its own, which is
     * counted, too. */
    if (check_limit(w, b->buf.len + b->body_bytes, &ignored) != ERR_OK)
        close_failed(w);
    else
        commit_counter_set(w->folder->commit_counter, w->table_sum.commits);
    report->wal_pages = w->wal_pages;
    report->dropped_items = w->limit.dropped_items - items;
    report->dropped_scopes = w->limit.starved_count - scopes;
    return ERR_OK;
}

enum err_kind writer_start_over(struct writer *w, struct err *err)
{
    close_failed(w);
    reset_limit(&w->limit);
    return folder_set_aside(w->folder, err);
}

void writer_close(struct writer *w)
{
    db_close(&w->db);
    w->wal_pages = 0;
}
