/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pack - rows as flat bytes, for batches and for sums; pure. Bytes of objects stay where they are,
 * only their digest is packed. What is unpacked was packed by this process: it is not doubted.
 */
#ifndef STATE_PACK_H
#define STATE_PACK_H

#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"
#include "state/row.h"

/* What is still to be unpacked. */
struct pack_reader {
    const char *p;
    const char *end;
};

/* Appends a number. */
void pack_u64(struct buf *out, uint64_t v);

/* Appends a string with its length. */
void pack_str(struct buf *out, struct str s);

/* Appends a whole item. */
void pack_item(struct buf *out, const struct row_item *item);

/* Appends what is no part of the identity: all but the key; the body is left out. */
void pack_object(struct buf *out, const struct row_object *o);

/* Appends what is no part of the identity: all but source, key and uid. */
void pack_delivery(struct buf *out, const struct row_delivery *m);

/* Takes a number. */
uint64_t pack_take_u64(struct pack_reader *r);

/* Takes a string, borrowed from what is read. */
struct str pack_take_str(struct pack_reader *r);

/* Takes an item. */
void pack_take_item(struct pack_reader *r, struct row_item *item);

/* Takes what pack_object() appended; key and body are left alone. */
void pack_take_object(struct pack_reader *r, struct row_object *o);

/* Takes what pack_delivery() appended; the rest is left alone. */
void pack_take_delivery(struct pack_reader *r, struct row_delivery *m);

#endif
