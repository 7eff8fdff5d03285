/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gzip - decompresses a body with Content-Encoding gzip while it arrives; pure. The only home of
 * zlib. A body is a row of gzip members (RFC 1952 2.2): some servers end a member at each flush
 * (docs/kubernetes-protocol.md "Compression").
 */
#ifndef PROTO_GZIP_H
#define PROTO_GZIP_H

#include <stddef.h>

#include "base/err.h"
#include "base/str.h"

/* A body may grow to so many times its size. Lists of almost equal pods, compressed as well as gzip
 * can, come to 90, those of real clusters to 10 or 20; a decompression bomb comes to 1030. */
#define GZIP_RATIO ((size_t)100)

/* So many bytes may come from fewer bytes than that, as one object may well be a megabyte of
 * zeros. The bytes that are allowed are no more than this at any time: a body cannot save them up
 * for a bomb at its end. */
#define GZIP_ALLOWANCE_BYTES ((size_t)16 * 1024 * 1024)

/* The result of gzip_read(). */
enum gzip_part {
    GZIP_MORE,   /* nothing: all bytes are read */
    GZIP_PIECE,  /* a piece of the content */
    GZIP_FAILED, /* the error says why */
};

struct gzip;

/* A decompressor for one body; takes about 80 KiB. Never NULL. */
struct gzip *gzip_create(void);

/* Frees it and sets *g to NULL. NULL is fine. */
void gzip_destroy(struct gzip **g);

/* Decompresses bytes from the front of *data up to the next piece of content; call it again until
 * it returns MORE or FAILED. PIECE: *piece has 1 to 32768 bytes and is borrowed until the next call.
 * Its checksum stands behind it, so content counts only when all of the body was read, up to
 * gzip_end(). FAILED: ERR_PROTOCOL: the bytes are no gzip, a checksum is wrong, or the body grows
 * too much. Not to be called after FAILED. */
enum gzip_part gzip_read(struct gzip *g, struct str *data, struct str *piece,
                         struct err *err) MUST_CHECK;

/* The body is over. ERR_PROTOCOL: it ends within a member. An empty body is complete. */
enum err_kind gzip_end(const struct gzip *g, struct err *err) MUST_CHECK;

#endif
