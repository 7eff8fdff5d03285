/* SPDX-License-Identifier: Apache-2.0 */
#include "state/writer.h"

#include <stdlib.h>

#include <sqlite3.h>

#include "base/mem.h"
#include "state/commit_counter.h"
#include "state/db.h"
#include "state/schema.h"
#include "state/writer_limit.h"
#include "state/writer_sql.h"

struct writer {
    const struct folder *folder;
    struct writer_sql_set set; /* db NULL: not open */
    struct writer_limit limit;
    unsigned wal_pages;
};

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
    db_drop(&w->set.db);
    buf_free(&w->set.scratch);
    writer_limit_reset(&w->limit);
    free(w);
}

/* SQLite's hook behind each commit: pages is the length of the log. */
static int on_commit(void *arg, struct sqlite3 *db, const char *name, int pages)
{
    struct writer *w = arg;

    (void)db;
    (void)name;
    w->wal_pages = (unsigned)pages;
    return SQLITE_OK;
}

/* Opens the file and makes its tables if it has none. A file without tables may be what is left of
 * one that was cut off, and a file with fewer commits may be an older copy that somebody put in its
 * place: neither is the file that was written before, and the changes of one batch would look like
 * a complete state in it. */
static enum err_kind open_file(struct writer *w, struct err *err)
{
    if (w->set.db != NULL)
        return ERR_OK;
    if (db_open(w->folder, DB_WRITE, &w->set.db, err) != ERR_OK)
        return err->kind;
    sqlite3_wal_hook(w->set.db, on_commit, w);
    if (schema_upgrade(w->set.db, err) != ERR_OK)
        return err->kind;
    if (writer_sql_prepare(&w->set, err) != ERR_OK)
        return err->kind;
    if (w->set.table_sum.commits < commit_counter_commits(w->folder->commit_counter))
        return err_set(err, ERR_PROTOCOL, 0, "state.db is not the file that was written before");
    return ERR_OK;
}

/* The digest is computed here, in the worker thread, so that hashing bodies does not hold up the
 * event loop. */
static enum err_kind write_object(struct writer *w, const struct batch_op *op, struct err *err)
{
    struct row_object o = op->u.object;

    if (writer_limit_starves(&w->limit, op->id))
        return ERR_OK;
    if (o.whole)
        o.digest = digest_of(o.body.p, o.body.n);
    return writer_sql_object(&w->set, op->id, &o, err);
}

static enum err_kind write_delivery(struct writer *w, const struct batch_op *op, struct err *err)
{
    struct row_delivery m = op->u.delivery;

    if (m.is_ended && m.last.whole)
        m.last.digest = digest_of(m.last.body.p, m.last.body.n);
    return writer_sql_delivery(&w->set, &m, err);
}

/* A scope without objects has nothing to resume on: a watch from its resourceVersion would never
 * bring the objects that were dropped. */
static enum err_kind write_fact(struct writer *w, const struct batch_op *op, struct err *err)
{
    if (op->u.fact.what == ROW_VERSION && writer_limit_starves(&w->limit, op->id))
        return ERR_OK;
    return writer_sql_fact(&w->set, &op->u.fact, err);
}

static enum err_kind apply_op(struct writer *w, const struct batch_op *op, struct err *err)
{
    switch (op->what) {
    case BATCH_RESET:
        return writer_sql_reset(&w->set, err);
    case BATCH_ITEM:
        return writer_sql_item(&w->set, &op->u.item, err);
    case BATCH_DROP_ITEM:
        return writer_sql_drop_item(&w->set, op->id, err);
    case BATCH_FACT:
        return write_fact(w, op, err);
    case BATCH_DROP_FACT:
        return writer_sql_drop_fact(&w->set, &op->u.fact, err);
    case BATCH_OBJECT:
        return write_object(w, op, err);
    case BATCH_DROP_OBJECT:
        return writer_sql_drop_object(&w->set, op->id, op->u.object.key, err);
    case BATCH_CLEAR:
        return writer_sql_run(&w->set, WRITER_SQL_CLEAR, op->id, err);
    case BATCH_DELIVERY:
        return write_delivery(w, op, err);
    case BATCH_DROP_DELIVERY:
        return writer_sql_drop_delivery(&w->set, &op->u.delivery, err);
    }
    return ERR_OK;
}

static enum err_kind apply_all(struct writer *w, const struct batch *b, struct err *err)
{
    struct batch_op op;
    size_t at = 0;

    if (open_file(w, err) != ERR_OK || writer_sql_run(&w->set, WRITER_SQL_BEGIN, 0, err) != ERR_OK)
        return err->kind;
    while (batch_next(b, &at, &op))
        if (apply_op(w, &op, err) != ERR_OK)
            return err->kind;
    return writer_sql_commit(&w->set, err);
}

/* Checks that state.db still names the file that was written; a commit to a file without a name
 * would be lost at the next start (docs/decisions.md "A commit counts only if state.db still names
 * the file"). Only then is the commit counted in the lock file. */
static enum err_kind check_place(struct writer *w, struct err *err)
{
    if (db_is_in_place(w->set.db)) {
        commit_counter_set(w->folder->commit_counter, w->set.table_sum.commits);
        return ERR_OK;
    }
    return err_set(err, ERR_NOT_FOUND, 0,
                   "somebody deleted state.db, or put another file in its place");
}

/* Closes the connection after an error, which also rolls back an open transaction. */
static void close_failed(struct writer *w)
{
    db_drop(&w->set.db);
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
     * after the next 256 KiB. writer_limit_check() may have made a commit of its own, which is
     * counted, too. */
    if (writer_limit_check(&w->limit, &w->set, b->buf.len + b->body_bytes, &ignored) != ERR_OK)
        close_failed(w);
    else
        commit_counter_set(w->folder->commit_counter, w->set.table_sum.commits);
    report->wal_pages = w->wal_pages;
    report->dropped_items = w->limit.dropped_items - items;
    report->dropped_scopes = w->limit.starved_count - scopes;
    return ERR_OK;
}

enum err_kind writer_start_over(struct writer *w, struct err *err)
{
    close_failed(w);
    writer_limit_reset(&w->limit);
    return folder_set_aside(w->folder, err);
}

void writer_close(struct writer *w)
{
    db_close(&w->set.db);
    w->wal_pages = 0;
}
