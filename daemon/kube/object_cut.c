/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/object_cut.h"

#include "base/panic.h"

enum { KEEP_BYTES = 64 * 1024 }; /* what an idle stream may hold */

void object_cut_begin(struct object_cut *c, uint64_t end)
{
    c->begun = end - 1;
    c->pos = end - 1;
    c->too_big = false;
    c->cutting = false;
    c->any_member = false;
    c->open_comma = false;
    buf_clear(&c->kept);
}

void object_cut_lend(struct object_cut *c, uint64_t start, const char *data, size_t n)
{
    c->data = data;
    c->start = start;
    c->n = n;
}

void object_cut_save(struct object_cut *c, bool inside)
{
    if (inside)
        object_cut_take(c, c->start + c->n);
    c->data = NULL;
    c->n = 0;
}

void object_cut_done(struct object_cut *c)
{
    if (c->kept.cap > KEEP_BYTES)
        buf_free(&c->kept);
}

void object_cut_take(struct object_cut *c, uint64_t end)
{
    if (end <= c->pos)
        return;
    ensure(c->pos >= c->start && end <= c->start + c->n);
    if (!c->too_big && end - c->begun > c->limit) {
        c->too_big = true;
        buf_free(&c->kept); /* at once: memory is bounded */
    }
    if (!c->too_big && !c->cutting)
        buf_append(&c->kept, c->data + (c->pos - c->start), (size_t)(end - c->pos));
    c->pos = end;
}

void object_cut_open(struct object_cut *c, uint64_t end)
{
    c->marked = end;
    c->any_member = false;
    c->open_comma = false;
}

/* Between cut_at and the end of this key stands the comma that followed what was cut. */
static void cut_comma(struct object_cut *c, uint64_t key_end)
{
    c->open_comma = false;
    object_cut_take(c, key_end);
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

void object_cut_key(struct object_cut *c, uint64_t end, bool drop)
{
    if (!drop && c->open_comma)
        cut_comma(c, end);
    if (!drop)
        return;
    object_cut_take(c, c->marked);
    if (!c->too_big)
        c->kept.len -= (size_t)(c->pos - c->marked); /* all of them were taken as they are */
    c->cut_at = c->kept.len;
    c->cutting = true;
}

void object_cut_value(struct object_cut *c, uint64_t end, bool drop)
{
    if (drop) {
        object_cut_take(c, end);
        c->cutting = false;
        c->open_comma = !c->any_member;
    } else {
        c->any_member = true;
        c->open_comma = false; /* what was cut in it does not count here */
    }
    c->marked = end;
}

size_t object_cut_text(struct object_cut *c, uint64_t end, struct str text, bool quoted)
{
    size_t behind = quoted ? 1 : 0;

    object_cut_take(c, end);
    if (c->too_big || c->cutting || c->kept.len < text.n + 2 * behind)
        return SIZE_MAX;
    size_t at = c->kept.len - behind - text.n;
    const char *kept = c->kept.data;
    if (memcmp(kept + at, text.p, text.n) != 0)
        return SIZE_MAX;
    if (quoted && (kept[at - 1] != '"' || kept[c->kept.len - 1] != '"'))
        return SIZE_MAX;
    c->kept.len = at;
    if (quoted)
        buf_putc(&c->kept, '"');
    return at;
}
