/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pack - rows as flat bytes, for batches and for checksums; pure. The bodies of objects stay where
 * they are; only their digest is packed. Bytes that are unpacked were packed by this process, so
 * they are not checked.
 */
#ifndef STATE_PACK_H
#define STATE_PACK_H

#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"
#include "state/row.h"

/* The bytes that are still to be unpacked: from p up to end. */
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

/* Appends an object without its key, which is packed before as part of the row's identity, and
 * without its body. */
void pack_object(struct buf *out, const struct row_object *o);

/* Appends a delivery record without source, key and uid, which are packed before as its
 * identity. */
void pack_delivery(struct buf *out, const struct row_delivery *m);

/* Takes a number. Fewer bytes than that are a bug (ensure). */
uint64_t pack_take_u64(struct pack_reader *r);

/* Takes a string, borrowed from the bytes that are read. */
struct str pack_take_str(struct pack_reader *r);

/* Takes an item. */
void pack_take_item(struct pack_reader *r, struct row_item *item);

/* Takes the fields that pack_object() appended; key and body are left alone. */
void pack_take_object(struct pack_reader *r, struct row_object *o);

/* Takes the fields that pack_delivery() appended; source, key and uid are left alone. */
void pack_take_delivery(struct pack_reader *r, struct row_delivery *m);

#endif
