/* SPDX-License-Identifier: Apache-2.0 */
#include "state/pack.h"

#include <string.h>

#include "base/panic.h"

/* The order and width of the fields that are packed here are on disk by way of the checksums
 * (state/row.c): a change would make every row look damaged. */
enum { DELIVERY_HANDLED = 1, DELIVERY_DELIVERED = 2, DELIVERY_ATTEMPTED = 4, DELIVERY_ENDED = 8 };

void pack_u64(struct buf *out, uint64_t v)
{
    buf_append(out, &v, sizeof(v));
}

void pack_str(struct buf *out, struct str s)
{
    pack_u64(out, s.n);
    buf_append_str(out, s);
}

static void pack_digest(struct buf *out, struct digest d)
{
    pack_u64(out, d.lo);
    pack_u64(out, d.hi);
}

void pack_item(struct buf *out, const struct row_item *item)
{
    pack_u64(out, item->id);
    pack_u64(out, item->kind);
    pack_u64(out, item->parent);
    pack_u64(out, item->unused_since_s);
    pack_str(out, item->name);
}

void pack_object(struct buf *out, const struct row_object *o)
{
    pack_u64(out, o->whole);
    /* Two positions of 32 bits each in one number. */
    pack_u64(out, (uint64_t)o->rv_at << 32 | o->generation_at);
    pack_digest(out, o->digest);
    pack_str(out, o->uid);
    pack_str(out, o->rv);
    pack_str(out, o->generation);
    pack_str(out, o->api_version);
    pack_str(out, o->kind);
}

void pack_delivery(struct buf *out, const struct row_delivery *m)
{
    static const struct digest none;

    pack_u64(out, (m->is_handled ? DELIVERY_HANDLED : 0) |
                      (m->is_delivered ? DELIVERY_DELIVERED : 0) |
                      (m->attempted ? DELIVERY_ATTEMPTED : 0) | (m->is_ended ? DELIVERY_ENDED : 0));
    pack_u64(out, m->note);
    /* A digest that does not count is packed as zeros: the checksum must be the same after the row
     * came back from disk, where that column is NULL. */
    pack_digest(out, m->is_handled ? m->handled : none);
    pack_digest(out, m->is_delivered ? m->delivered : none);
    if (m->is_ended)
        pack_object(out, &m->last);
}

/* The bytes come from this process, so a length that does not fit is a bug, not bad input. */
static struct str take(struct pack_reader *r, size_t n)
{
    ensure((size_t)(r->end - r->p) >= n);
    struct str s = str_of(r->p, n);
    r->p += n;
    return s;
}

uint64_t pack_take_u64(struct pack_reader *r)
{
    uint64_t v;

    memcpy(&v, take(r, sizeof(v)).p, sizeof(v));
    return v;
}

struct str pack_take_str(struct pack_reader *r)
{
    uint64_t n = pack_take_u64(r);

    return take(r, n);
}

static struct digest unpack_digest(struct pack_reader *r)
{
    uint64_t lo = pack_take_u64(r);

    return (struct digest){.lo = lo, .hi = pack_take_u64(r)};
}

void pack_take_item(struct pack_reader *r, struct row_item *item)
{
    item->id = pack_take_u64(r);
    item->kind = (enum row_kind)pack_take_u64(r);
    item->parent = pack_take_u64(r);
    item->unused_since_s = pack_take_u64(r);
    item->name = pack_take_str(r);
}

void pack_take_object(struct pack_reader *r, struct row_object *o)
{
    o->whole = pack_take_u64(r) != 0;
    uint64_t at = pack_take_u64(r);
    o->rv_at = (uint32_t)(at >> 32);
    o->generation_at = (uint32_t)at;
    o->digest = unpack_digest(r);
    o->uid = pack_take_str(r);
    o->rv = pack_take_str(r);
    o->generation = pack_take_str(r);
    o->api_version = pack_take_str(r);
    o->kind = pack_take_str(r);
}

void pack_take_delivery(struct pack_reader *r, struct row_delivery *m)
{
    uint64_t flags = pack_take_u64(r);

    m->is_handled = (flags & DELIVERY_HANDLED) != 0;
    m->is_delivered = (flags & DELIVERY_DELIVERED) != 0;
    m->attempted = (flags & DELIVERY_ATTEMPTED) != 0;
    m->is_ended = (flags & DELIVERY_ENDED) != 0;
    m->note = (uint32_t)pack_take_u64(r);
    m->handled = unpack_digest(r);
    m->delivered = unpack_digest(r);
    if (m->is_ended)
        pack_take_object(r, &m->last);
}
