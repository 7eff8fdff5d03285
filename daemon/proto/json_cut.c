/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/json_cut.h"

#include <string.h>

#include "base/panic.h"

/* Memory that an idle stream may hold. Most objects are smaller, so they need no allocation. */
enum { KEEP_BYTES = 64 * 1024 };

void json_cut_lend(struct json_cut *c, uint64_t start, const char *data, size_t n)
{
    c->data = data;
    c->start = start;
    c->n = n;
}

/* The rest of the object is in later chunks. Bytes that a cut member leaves out are passed over here
 * as well. */
void json_cut_save(struct json_cut *c, bool is_inside)
{
    if (is_inside)
        json_cut_take(c, c->start + c->n);
    c->data = NULL;
    c->n = 0;
}

void json_cut_begin(struct json_cut *c, uint64_t end)
{
    c->begun = end - 1;
    c->pos = end - 1;
    c->too_big = false;
    c->no_memory = false;
    c->cutting = false;
    c->any_member = false;
    c->open_comma = false;
    buf_clear(&c->kept);
}

/* The object is of no use: its memory is given back at once, as the rest of it may be large. */
static void give_up(struct json_cut *c, bool no_memory)
{
    c->too_big = true;
    c->no_memory = no_memory;
    buf_free(&c->kept);
}

void json_cut_give_up(struct json_cut *c)
{
    give_up(c, true);
}

void json_cut_take(struct json_cut *c, uint64_t end)
{
    if (end <= c->pos)
        return;
    ensure(c->pos >= c->start && end <= c->start + c->n);
    size_t n = (size_t)(end - c->pos);

    if (!c->too_big && end - c->begun > c->limit)
        give_up(c, false);
    if (!c->too_big && !c->cutting && !buf_try_room(&c->kept, n))
        give_up(c, true);
    if (!c->too_big && !c->cutting)
        buf_append(&c->kept, c->data + (c->pos - c->start), n);
    c->pos = end;
}

/* A member is kept behind cut ones at the beginning of an object, as in {CUT, "b": 2}. The comma
 * that followed the cut member stands between cut_at and the end of this key, and must go. */
void json_cut_comma(struct json_cut *c, uint64_t key_end)
{
    c->open_comma = false;
    json_cut_take(c, key_end);
    if (c->too_big)
        return;
    char *from = c->kept.data + c->cut_at;
    size_t behind = c->kept.len - c->cut_at;
    const char *comma = memchr(from, ',', behind);
    ensure(comma != NULL);
    size_t cut = (size_t)(comma - from) + 1;
    memmove(from, from + cut, behind - cut);
    c->kept.len -= cut;
}

/* A cut begins at the end of the member before it, so it takes the comma between the two along. */
void json_cut_drop_key(struct json_cut *c)
{
    json_cut_take(c, c->marked);
    /* Comma, white space and key may be in kept already, from a chunk that was saved. Nothing was
     * cut among them, so that many bytes can be dropped from the end. */
    if (!c->too_big)
        c->kept.len -= (size_t)(c->pos - c->marked);
    c->cut_at = c->kept.len;
    c->cutting = true;
}

void json_cut_drop_value(struct json_cut *c, uint64_t end)
{
    json_cut_take(c, end);
    c->cutting = false;
    c->open_comma = !c->any_member;
    c->marked = end;
}

size_t json_cut_text(struct json_cut *c, uint64_t end, struct str text, bool quoted)
{
    size_t behind = quoted ? 1 : 0;

    json_cut_take(c, end);
    if (c->too_big || c->cutting || c->kept.len < text.n + 2 * behind)
        return SIZE_MAX;
    size_t at = c->kept.len - behind - text.n;
    const char *kept = c->kept.data;
    /* text is decoded. Where the bytes of the server are written with escapes they differ from
     * it, and their place in the text is not known. */
    if (memcmp(kept + at, text.p, text.n) != 0)
        return SIZE_MAX;
    if (quoted && (kept[at - 1] != '"' || kept[c->kept.len - 1] != '"'))
        return SIZE_MAX;
    c->kept.len = at;
    if (quoted)
        buf_putc(&c->kept, '"');
    return at;
}

void json_cut_put_front(struct json_cut *c, struct str members)
{
    if (!buf_try_room(&c->kept, members.n)) {
        give_up(c, true);
        return;
    }
    char *end = c->kept.data + c->kept.len;
    char *first = c->kept.data + 1;

    memmove(first + members.n, first, (size_t)(end - first));
    memcpy(first, members.p, members.n);
    c->kept.len += members.n;
}

void json_cut_done(struct json_cut *c)
{
    if (c->kept.cap > KEEP_BYTES)
        buf_free(&c->kept);
}

void json_cut_fini(struct json_cut *c)
{
    buf_free(&c->kept);
}
