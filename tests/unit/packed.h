/* SPDX-License-Identifier: Apache-2.0 */
/*
 * packed - makes gzip bodies for tests; pure.
 */
#ifndef UNIT_PACKED_H
#define UNIT_PACKED_H

#include <stddef.h>

#include "base/buf.h"
#include "base/str.h"

/* Appends a gzip member with this content. */
void packed_put(struct buf *out, struct str content);

/* Appends a member of n bytes that are all the same. */
void packed_put_fill(struct buf *out, char byte, size_t n);

/* Appends a member whose header has all optional fields (RFC 1952 2.3): extra bytes, file name,
 * comment and a checksum of its own. */
void packed_put_full_header(struct buf *out, struct str content);

/* The number of bytes of content that the beginning of a member holds, at most max. */
size_t packed_content(struct str begin, size_t max);

#endif
