/* SPDX-License-Identifier: Apache-2.0 */
#include "persist/row.h"

#include <inttypes.h>
#include <string.h>

#include "base/mem.h"

enum { HALF = 16, DIGEST = 2 * HALF }; /* hexadecimal digits of 64 bits, half a digest */

/* Rows have positions of 32 bits, objects have a size_t. ROW_NOWHERE on disk is SIZE_MAX in memory:
 * the body has no place for this value. */
static uint32_t at_of(size_t at)
{
    return at < ROW_NOWHERE ? (uint32_t)at : ROW_NOWHERE;
}

static size_t position_of(uint32_t at)
{
    return at != ROW_NOWHERE ? at : SIZE_MAX;
}

/* The row of an object. If its body is not kept, the row has the digest of the body instead. */
static struct row_object row_of(const struct object *o, enum persist_bytes how)
{
    struct object_parts p = object_parts_of(o);
    bool whole = how == PERSIST_FULL && p.body.n > 0;
    struct row_object row = {
        .key = object_key(o),
        .uid = p.uid,
        .rv = p.rv,
        .generation = p.generation,
        .api_version = p.api_version,
        .kind = p.kind,
        .rv_at = at_of(p.rv_at),
        .generation_at = at_of(p.generation_at),
        .whole = whole,
    };

    if (whole)
        row.body = p.body;
    else
        row.digest = digest_of(p.body.p, p.body.n);
    return row;
}

void persist_row_put(struct batch *b, uint64_t scope, struct object *o, enum persist_bytes how)
{
    struct row_object row = row_of(o, how);

    batch_object(b, scope, &row, row.whole ? object_ref(o) : NULL);
}

struct object *persist_row_object(const struct row_object *row)
{
    const char *slash = memchr(row->key.p, '/', row->key.n);
    size_t ns = slash != NULL ? (size_t)(slash - row->key.p) : 0;
    size_t name = slash != NULL ? ns + 1 : 0;
    const struct object_parts p = {
        .ns = str_of(row->key.p, ns),
        .name = str_of(row->key.p + name, row->key.n - name),
        .uid = row->uid,
        /* Without its body an object must differ from the one that a list brings, or the list would
         * leave it as it is: so it has no resourceVersion either. */
        .rv = row->whole ? row->rv : str_of(NULL, 0),
        .generation = row->whole ? row->generation : str_of(NULL, 0),
        .api_version = row->api_version,
        .kind = row->kind,
        .body = row->whole ? row->body : str_of(NULL, 0),
        .rv_at = row->whole ? position_of(row->rv_at) : SIZE_MAX,
        .generation_at = row->whole ? position_of(row->generation_at) : SIZE_MAX,
    };

    return object_create(&p);
}

void persist_row_put_delivery(struct batch *b, uint64_t source, const struct delivery_record *m,
                              enum persist_bytes how)
{
    struct row_delivery row = {
        .source = source,
        .key = m->key,
        .uid = m->uid,
        .is_handled = m->is_handled,
        .is_delivered = m->is_delivered,
        .attempted = m->attempted,
        .is_ended = m->is_ended,
        .note = m->note,
        .handled = m->handled,
        .delivered = m->delivered,
    };
    bool has_last = m->is_ended && m->last != NULL;

    if (has_last)
        row.last = row_of(m->last, how);
    /* The last state has the key and the uid of the record. */
    row.last.key = m->key;
    row.last.uid = m->uid;
    batch_delivery(b, &row, has_last && row.last.whole ? object_ref(m->last) : NULL);
}

struct delivery_record persist_row_delivery(const struct row_delivery *row)
{
    struct delivery_record m = {
        .key = row->key,
        .uid = row->uid,
        .is_handled = row->is_handled,
        .is_delivered = row->is_delivered,
        .attempted = row->attempted,
        .is_ended = row->is_ended,
        .note = row->note,
        .handled = row->handled,
        .delivered = row->delivered,
    };
    struct row_object last = row->last;

    last.key = row->key;
    last.uid = row->uid;
    /* The record of an outage (STALE) has an empty key, and no object. */
    if (row->is_ended && row->key.n > 0)
        m.last = persist_row_object(&last);
    return m;
}

void persist_row_release(void *hold)
{
    struct object *o = hold;

    object_unref(&o);
}

/* ---- Values of facts are lines. Only the last line may hold a newline, so it has the text that
 * may hold anything. */

void persist_row_put_digest(struct buf *out, struct digest d)
{
    buf_printf(out, "%016" PRIx64 "%016" PRIx64, d.hi, d.lo);
}

static bool take_half(const char *p, uint64_t *half)
{
    *half = 0;
    for (size_t i = 0; i < HALF; i++) {
        const char *digits = "0123456789abcdef";
        /* strchr() would find a NUL in the text, too: at the end of the digits. */
        const char *digit = p[i] != '\0' ? strchr(digits, p[i]) : NULL;

        if (digit == NULL)
            return false;
        *half = *half << 4 | (uint64_t)(digit - digits);
    }
    return true;
}

bool persist_row_digest(struct str text, struct digest *d)
{
    return text.n == DIGEST && take_half(text.p, &d->hi) && take_half(text.p + HALF, &d->lo);
}

static bool is_digest(struct str text, struct digest d)
{
    struct digest other;

    return persist_row_digest(text, &other) && digest_eq(other, d);
}

void persist_row_put_digest_beside(struct buf *out, const struct digest_forms *d)
{
    persist_row_put_digest(out, d->now);
    buf_putc(out, ' ');
    persist_row_put_digest(out, d->former);
}

bool persist_row_digest_beside(struct str text, struct digest former, struct digest *now)
{
    return text.n == 2 * DIGEST + 1 && text.p[DIGEST] == ' ' &&
           persist_row_digest(str_of(text.p, DIGEST), now) &&
           is_digest(str_of(text.p + DIGEST + 1, DIGEST), former);
}

/* Takes the first line off the text: returns it without its newline, and makes *text begin behind
 * it. */
static struct str take_line(struct str *text)
{
    const char *end = text->n > 0 ? memchr(text->p, '\n', text->n) : NULL;
    size_t n = end != NULL ? (size_t)(end - text->p) : text->n;
    size_t taken = end != NULL ? n + 1 : n;
    struct str line = str_of(text->p, n);

    *text = str_of(text->p + taken, text->n - taken);
    return line;
}

/* Appends one more line, whose text may hold a NUL: printf would cut it off there. */
static void put_line(struct buf *out, struct str text)
{
    buf_putc(out, '\n');
    buf_append_str(out, text);
}

void persist_row_put_version(struct buf *out, const struct persist_version *v)
{
    persist_row_put_digest(out, v->settings);
    put_line(out, v->rv);
    put_line(out, v->collection_rv);
}

bool persist_row_version(struct str text, struct persist_version *v)
{
    if (!persist_row_digest(take_line(&text), &v->settings))
        return false;
    v->rv = take_line(&text);
    v->collection_rv = text;
    return true;
}

void persist_row_put_skip(struct buf *out, const struct skip *s)
{
    buf_printf(out, "%" PRIu64, s->times);
    put_line(out, s->why);
    put_line(out, s->name);
}

bool persist_row_skip(struct str text, struct skip *s)
{
    struct str line = take_line(&text);

    if (!str_take_u64(&line, &s->times) || line.n > 0)
        return false;
    s->why = take_line(&text);
    s->missing = str_is(s->why, SKIPS_MISSING);
    s->name = text;
    return s->times > 0;
}

void persist_row_put_file(struct buf *out, const struct files_seen *seen, struct str source)
{
    persist_row_put_digest(out, seen->digest);
    put_line(out, source);
    put_line(out, seen->key);
}

bool persist_row_file(struct str text, struct files_seen *seen, struct str *source)
{
    if (!persist_row_digest(take_line(&text), &seen->digest))
        return false;
    *source = take_line(&text);
    seen->key = text;
    return true;
}
