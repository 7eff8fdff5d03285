/* SPDX-License-Identifier: Apache-2.0 */
#include "state/writer_limit.h"

#include <stdlib.h>

#include "base/mem.h"
#include "state/db.h"

/* Looking at the size costs more than writing one delivery record, so it is done once per 256
 * KiB. */
enum { LOOK_EVERY = 256 << 10 };

/* The size without free pages: SQLite uses these again before the file grows. */
static enum err_kind size_of(struct writer_sql_set *set, uint64_t *out, struct err *err)
{
    int64_t pages;
    int64_t free_pages;
    int64_t page_size;

    if (db_number(set->db, "PRAGMA page_count", &pages, err) != ERR_OK ||
        db_number(set->db, "PRAGMA freelist_count", &free_pages, err) != ERR_OK ||
        db_number(set->db, "PRAGMA page_size", &page_size, err) != ERR_OK)
        return err->kind;
    *out = (uint64_t)(pages - free_pages) * (uint64_t)page_size;
    return ERR_OK;
}

/* Drops the objects of a scope and its resourceVersion, and notes that the scope keeps none from
 * now on: otherwise the objects would come back with their next changes, and half a cache would
 * look like a whole one. */
static enum err_kind starve(struct writer_limit *l, struct writer_sql_set *set, uint64_t scope,
                            struct err *err)
{
    const struct row_fact version = {.item = scope, .what = ROW_VERSION};

    l->starved = mem_realloc(l->starved, (l->starved_count + 1) * sizeof(*l->starved));
    l->starved[l->starved_count++] = scope;
    if (writer_sql_run(set, WRITER_SQL_CLEAR, scope, err) != ERR_OK)
        return err->kind;
    return writer_sql_drop_fact(set, &version, err);
}

/* Drops the item that has been unused longest, or if there is none the objects of the largest
 * scope. Runs inside a transaction. *more = false: there is nothing left to drop. */
static enum err_kind drop_one(struct writer_limit *l, struct writer_sql_set *set, bool *more,
                              struct err *err)
{
    uint64_t id;

    *more = true;
    if (writer_sql_number(set, WRITER_SQL_UNUSED, &id, err) != ERR_OK)
        return err->kind;
    if (id != 0) {
        l->dropped_items++;
        return writer_sql_drop_item(set, id, err);
    }
    if (writer_sql_number(set, WRITER_SQL_LARGEST, &id, err) != ERR_OK)
        return err->kind;
    *more = id != 0;
    return id != 0 ? starve(l, set, id, err) : ERR_OK;
}

/* Drops rows until the file is at most at 90 % of its limit, so that the next change does not bring
 * it over the limit again. */
static enum err_kind drop_some(struct writer_limit *l, struct writer_sql_set *set, struct err *err)
{
    uint64_t size = UINT64_MAX;
    bool more = true;

    while (more && size > l->bytes / 10 * 9)
        if (drop_one(l, set, &more, err) != ERR_OK || size_of(set, &size, err) != ERR_OK)
            return err->kind;
    return writer_sql_commit(set, err);
}

enum err_kind writer_limit_check(struct writer_limit *l, struct writer_sql_set *set,
                                 uint64_t written, struct err *err)
{
    uint64_t size = 0;

    l->written += written;
    if (l->written < LOOK_EVERY)
        return ERR_OK;
    l->written = 0;
    if (size_of(set, &size, err) != ERR_OK)
        return err->kind;
    if (size <= l->bytes)
        return ERR_OK;
    if (writer_sql_run(set, WRITER_SQL_BEGIN, 0, err) != ERR_OK)
        return err->kind;
    size_t items = l->dropped_items;
    size_t scopes = l->starved_count;
    if (drop_some(l, set, err) == ERR_OK)
        return ERR_OK;
    l->dropped_items = items; /* the rollback brings the rows back */
    l->starved_count = scopes;
    return err->kind;
}

bool writer_limit_starves(const struct writer_limit *l, uint64_t scope)
{
    for (size_t i = 0; i < l->starved_count; i++)
        if (l->starved[i] == scope)
            return true;
    return false;
}

void writer_limit_reset(struct writer_limit *l)
{
    free(l->starved);
    *l = (struct writer_limit){.bytes = l->bytes};
}
