/* SPDX-License-Identifier: Apache-2.0 */
#include "state/loader_row.h"

#include <string.h>

#include <sqlite3.h>

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
    o->uid = take_bytes(c);
    o->rv = take_bytes(c);
    o->generation = take_bytes(c);
    o->api_version = take_bytes(c);
    o->kind = take_bytes(c);
    o->rv_at = take_place(c);
    o->generation_at = take_place(c);
    bool sound = take_digest(c, &o->digest);
    /* A body that is NULL was not kept (persist); an empty one was. */
    o->whole = sqlite3_column_type(c->stmt, c->n) != SQLITE_NULL;
    o->body = take_bytes(c);
    return sound && body_is_sound(o);
}

bool loader_row_item(struct sqlite3_stmt *stmt, struct buf *scratch, struct row_item *item)
{
    struct columns c = {stmt, 0};
    uint64_t sum = take_u64(&c);

    item->id = take_u64(&c);
    item->kind = (enum row_kind)take_u64(&c);
    item->parent = take_u64(&c);
    item->name = take_bytes(&c);
    item->unused_since_s = take_u64(&c);
    return sum == row_item_sum(scratch, item);
}

bool loader_row_fact(struct sqlite3_stmt *stmt, struct buf *scratch, struct row_fact *fact)
{
    struct columns c = {stmt, 0};
    uint64_t sum = take_u64(&c);

    fact->item = take_u64(&c);
    /* The checksum is over the word itself, so that the row of a word that this release does not
     * know can be checked. */
    struct str word = take_bytes(&c);
    fact->what = row_what_find(word);
    fact->key = take_bytes(&c);
    fact->value = take_bytes(&c);
    return sum == row_fact_sum(scratch, fact->item, word, fact->key, fact->value);
}

bool loader_row_object(struct sqlite3_stmt *stmt, struct buf *scratch, uint64_t *scope,
                       struct row_object *o)
{
    struct columns c = {stmt, 0};
    uint64_t sum = take_u64(&c);

    *scope = take_u64(&c);
    o->key = take_bytes(&c);
    return take_object(&c, o) && sum == row_object_sum(scratch, *scope, o);
}

bool loader_row_delivery(struct sqlite3_stmt *stmt, struct buf *scratch, struct row_delivery *m)
{
    struct columns c = {stmt, 0};
    uint64_t sum = take_u64(&c);

    memset(m, 0, sizeof(*m));
    m->source = take_u64(&c);
    m->key = take_bytes(&c);
    m->uid = take_bytes(&c);
    m->is_handled = take_digest(&c, &m->handled);
    m->is_delivered = take_digest(&c, &m->delivered);
    m->attempted = take_u64(&c) != 0;
    m->is_ended = take_u64(&c) != 0;
    m->note = (uint32_t)take_u64(&c);
    /* Only a delivery record of an incarnation that has ended has a last state. */
    m->last.key = m->key;
    if (m->is_ended && !take_object(&c, &m->last))
        return false;
    return sum == row_delivery_sum(scratch, m);
}
