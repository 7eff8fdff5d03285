/* SPDX-License-Identifier: Apache-2.0 */
#include "state/writer_sql.h"

#include <sqlite3.h>

#include "base/compiler.h"
#include "state/db.h"

/* Inserts end in ON CONFLICT DO UPDATE, not in INSERT OR REPLACE: the latter would delete the old
 * row without the delete trigger by which table_sum follows the sum. UNUSED looks at clusters (1),
 * watches (2) and hooks (4): scopes and sources go with their parents. state/schema.c explains the
 * names of tables and columns. */
static const char *const sql[] = {
    [WRITER_SQL_BEGIN] = "BEGIN IMMEDIATE",
    [WRITER_SQL_COMMIT] = "COMMIT",
    [WRITER_SQL_TOTAL] = "INSERT INTO total(id, sum, commits) VALUES(1,?,?) ON CONFLICT(id)"
                         " DO UPDATE SET sum=excluded.sum, commits=excluded.commits",
    [WRITER_SQL_ITEM] = "INSERT INTO item(id, kind, parent, name, unused_since, sum)"
                        " VALUES(?,?,?,?,?,?) ON CONFLICT(id) DO UPDATE SET kind=excluded.kind,"
                        " parent=excluded.parent, name=excluded.name,"
                        " unused_since=excluded.unused_since, sum=excluded.sum",
    [WRITER_SQL_FACT] = "INSERT INTO fact(item, what, key, value, sum) VALUES(?,?,?,?,?)"
                        " ON CONFLICT(item, what, key)"
                        " DO UPDATE SET value=excluded.value, sum=excluded.sum",
    [WRITER_SQL_DROP_FACT] = "DELETE FROM fact WHERE item=? AND what=? AND key=?",
    [WRITER_SQL_OBJECT] =
        "INSERT INTO object(stream, key, sum, uid, rv, generation, api_version, kind, rv_at,"
        " generation_at, digest, body) VALUES(?,?,?,?,?,?,?,?,?,?,?,?)"
        " ON CONFLICT(stream, key) DO UPDATE SET sum=excluded.sum, uid=excluded.uid,"
        " rv=excluded.rv, generation=excluded.generation, api_version=excluded.api_version,"
        " kind=excluded.kind, rv_at=excluded.rv_at, generation_at=excluded.generation_at,"
        " digest=excluded.digest, body=excluded.body",
    [WRITER_SQL_DROP_OBJECT] = "DELETE FROM object WHERE stream=? AND key=?",
    [WRITER_SQL_CLEAR] = "DELETE FROM object WHERE stream=?",
    [WRITER_SQL_DELIVERY] =
        "INSERT INTO mark(source, key, uid, sum, handled, told, open, ended, note, last_uid, rv,"
        " generation, api_version, kind, rv_at, generation_at, digest, body)"
        " VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"
        " ON CONFLICT(source, key, uid) DO UPDATE SET sum=excluded.sum, handled=excluded.handled,"
        " told=excluded.told, open=excluded.open, ended=excluded.ended, note=excluded.note,"
        " last_uid=excluded.last_uid, rv=excluded.rv, generation=excluded.generation,"
        " api_version=excluded.api_version, kind=excluded.kind, rv_at=excluded.rv_at,"
        " generation_at=excluded.generation_at, digest=excluded.digest, body=excluded.body",
    [WRITER_SQL_DROP_DELIVERY] = "DELETE FROM mark WHERE source=? AND key=? AND uid=?",
    [WRITER_SQL_UNUSED] = "SELECT id FROM item WHERE unused_since > 0 AND kind IN (1, 2, 4)"
                          " ORDER BY unused_since LIMIT 1",
    [WRITER_SQL_LARGEST] = "SELECT stream FROM object WHERE body IS NOT NULL GROUP BY stream"
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

static void put_object(struct values *v, const struct row_object *o)
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

enum { OBJECT_VALUES = 9 }; /* parameters that put_object() binds */

enum err_kind writer_sql_prepare(struct writer_sql_set *set, struct err *err)
{
    if (table_sum_follow(set->db, &set->table_sum, err) != ERR_OK)
        return err->kind;
    for (size_t i = 0; i < WRITER_SQL_COUNT; i++)
        if (db_prepare(set->db, sql[i], &set->v[i], err) != ERR_OK)
            return err->kind;
    return ERR_OK;
}

enum err_kind writer_sql_run(struct writer_sql_set *set, enum writer_sql which, uint64_t value,
                             struct err *err)
{
    if (sqlite3_bind_parameter_count(set->v[which]) > 0)
        sqlite3_bind_int64(set->v[which], 1, (int64_t)value);
    return db_run(set->db, set->v[which], err);
}

enum err_kind writer_sql_commit(struct writer_sql_set *set, struct err *err)
{
    struct values v = {set->v[WRITER_SQL_TOTAL], 0};

    put_u64(&v, set->table_sum.sum);
    put_u64(&v, ++set->table_sum.commits);
    if (db_run(set->db, v.stmt, err) != ERR_OK)
        return err->kind;
    return writer_sql_run(set, WRITER_SQL_COMMIT, 0, err);
}

enum err_kind writer_sql_number(struct writer_sql_set *set, enum writer_sql which, uint64_t *out,
                                struct err *err)
{
    int rc = sqlite3_step(set->v[which]);
    enum err_kind kind = ERR_OK;

    *out = rc == SQLITE_ROW ? (uint64_t)sqlite3_column_int64(set->v[which], 0) : 0;
    if (rc != SQLITE_ROW && rc != SQLITE_DONE)
        kind = db_fail(set->db, rc, err);
    sqlite3_reset(set->v[which]);
    return kind;
}

enum err_kind writer_sql_drop_item(struct writer_sql_set *set, uint64_t id, struct err *err)
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
    return db_exec(set->db, text, err);
}

enum err_kind writer_sql_reset(struct writer_sql_set *set, struct err *err)
{
    static const char all[] =
        "DELETE FROM item; DELETE FROM fact; DELETE FROM object; DELETE FROM mark";

    if (db_exec(set->db, all, err) != ERR_OK)
        return err->kind;
    set->table_sum.sum = 0; /* also if it did not match the rows before */
    return ERR_OK;
}

enum err_kind writer_sql_item(struct writer_sql_set *set, const struct row_item *item,
                              struct err *err)
{
    struct values v = {set->v[WRITER_SQL_ITEM], 0};

    put_u64(&v, item->id);
    put_u64(&v, item->kind);
    put_u64(&v, item->parent);
    put_str(&v, item->name);
    put_u64(&v, item->unused_since_s);
    put_u64(&v, row_item_sum(&set->scratch, item));
    return db_run(set->db, v.stmt, err);
}

enum err_kind writer_sql_fact(struct writer_sql_set *set, const struct row_fact *fact,
                              struct err *err)
{
    struct values v = {set->v[WRITER_SQL_FACT], 0};
    struct str word = str_c(row_what_name(fact->what));

    put_u64(&v, fact->item);
    put_str(&v, word);
    put_str(&v, fact->key);
    put_blob(&v, fact->value);
    put_u64(&v, row_fact_sum(&set->scratch, fact->item, word, fact->key, fact->value));
    return db_run(set->db, v.stmt, err);
}

enum err_kind writer_sql_object(struct writer_sql_set *set, uint64_t scope,
                                const struct row_object *o, struct err *err)
{
    struct values v = {set->v[WRITER_SQL_OBJECT], 0};

    put_u64(&v, scope);
    put_str(&v, o->key);
    put_u64(&v, row_object_sum(&set->scratch, scope, o));
    put_object(&v, o);
    return db_run(set->db, v.stmt, err);
}

enum err_kind writer_sql_delivery(struct writer_sql_set *set, const struct row_delivery *m,
                                  struct err *err)
{
    struct values v = {set->v[WRITER_SQL_DELIVERY], 0};

    put_u64(&v, m->source);
    put_str(&v, m->key);
    put_str(&v, m->uid);
    put_u64(&v, row_delivery_sum(&set->scratch, m));
    put_digest(&v, m->is_handled, m->handled);
    put_digest(&v, m->is_delivered, m->delivered);
    put_u64(&v, m->attempted);
    put_u64(&v, m->is_ended);
    put_u64(&v, m->note);
    if (m->is_ended)
        put_object(&v, &m->last);
    /* Values of the run before stay bound, so the columns of the last state are set to NULL. */
    for (int i = 0; !m->is_ended && i < OBJECT_VALUES; i++)
        put_null(&v);
    return db_run(set->db, v.stmt, err);
}

enum err_kind writer_sql_drop_fact(struct writer_sql_set *set, const struct row_fact *fact,
                                   struct err *err)
{
    struct values v = {set->v[WRITER_SQL_DROP_FACT], 0};

    put_u64(&v, fact->item);
    put_str(&v, str_c(row_what_name(fact->what)));
    put_str(&v, fact->key);
    return db_run(set->db, v.stmt, err);
}

enum err_kind writer_sql_drop_object(struct writer_sql_set *set, uint64_t scope, struct str key,
                                     struct err *err)
{
    struct values v = {set->v[WRITER_SQL_DROP_OBJECT], 0};

    put_u64(&v, scope);
    put_str(&v, key);
    return db_run(set->db, v.stmt, err);
}

enum err_kind writer_sql_drop_delivery(struct writer_sql_set *set, const struct row_delivery *m,
                                       struct err *err)
{
    struct values v = {set->v[WRITER_SQL_DROP_DELIVERY], 0};

    put_u64(&v, m->source);
    put_str(&v, m->key);
    put_str(&v, m->uid);
    return db_run(set->db, v.stmt, err);
}
