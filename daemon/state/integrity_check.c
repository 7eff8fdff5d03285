/* SPDX-License-Identifier: Apache-2.0 */
#include "state/integrity_check.h"

#include <signal.h>

#include <sqlite3.h>

#include "base/panic.h"
#include "state/db.h"

static enum err_kind check_pages(struct sqlite3 *db, struct err *err)
{
    struct sqlite3_stmt *stmt;

    /* quick_check(1) stops at the first error, which is enough to give the file up. It returns one
     * row: "ok", or the error. */
    if (db_prepare(db, "PRAGMA quick_check(1)", &stmt, err) != ERR_OK)
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

static void check(struct integrity_check *c)
{
    struct sqlite3 *db;
    enum err_kind kind = db_open(c->folder, DB_LOAD, &db, &c->err);

    if (kind == ERR_OK)
        kind = check_pages(db, &c->err);
    db_drop(&db);
    /* c->err is written before: integrity_check_end() reads it only after the thread has ended. */
    atomic_store(&c->has_failed, kind != ERR_OK);
}

static void *run(void *arg)
{
    check(arg);
    return NULL;
}

void integrity_check_start(struct integrity_check *c, const struct folder *f)
{
    sigset_t all;
    sigset_t before;

    *c = (struct integrity_check){.folder = f};
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* the new thread gets no signals */
    c->is_beside = pthread_create(&c->thread, NULL, run, c) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!c->is_beside)
        check(c);
}

bool integrity_check_has_failed(const struct integrity_check *c)
{
    return atomic_load_explicit(&c->has_failed, memory_order_relaxed);
}

enum err_kind integrity_check_end(struct integrity_check *c, struct err *err)
{
    if (c->is_beside)
        ensure(pthread_join(c->thread, NULL) == 0);
    if (!integrity_check_has_failed(c))
        return ERR_OK;
    *err = c->err;
    return err->kind;
}
