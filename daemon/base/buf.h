/* SPDX-License-Identifier: Apache-2.0 */
/*
 * buf - a buffer of bytes that grows at the end and is read from the front; pure. A
 * zero-initialised buffer is empty. How much a peer may put into it is for the caller to limit.
 */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/str.h"

struct buf {
    char *data; /* NULL only while cap is 0 */
    size_t len; /* bytes in use, from data */
    size_t cap; /* bytes allocated */
};

/* Adds n bytes; data may be NULL when n is 0. */
void buf_append(struct buf *b, const void *data, size_t n);

/* Adds the bytes of a view. */
void buf_append_str(struct buf *b, struct str s);

/* Adds a C string. */
void buf_puts(struct buf *b, const char *s);

/* Adds one byte. */
void buf_putc(struct buf *b, char c);

/* Adds a number in decimal. */
void buf_put_u64(struct buf *b, uint64_t v);

/* Adds formatted text. */
void buf_printf(struct buf *b, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* Makes room for n more bytes, so that adding them does not move the buffer. */
void buf_make_room(struct buf *b, size_t n);

/* The same for a size that a peer chooses and that may be large: false, and b as it was, if there is no
 * memory. */
bool buf_try_room(struct buf *b, size_t n) MUST_CHECK;

/* Makes room for n more bytes behind len, and returns where they go. The caller writes them, and
 * adds their number to len. */
char *buf_reserve(struct buf *b, size_t n) MUST_CHECK;

/* Removes n <= len bytes from the front; the bytes behind them move down. */
void buf_consume(struct buf *b, size_t n);

/* Makes the buffer empty, and keeps its memory. */
void buf_clear(struct buf *b);

/* Ends the bytes with NUL (not counted in len) and returns them; valid until the next change. */
const char *buf_cstr(struct buf *b);

/* All bytes as a view, valid until the next change. */
struct str buf_str(const struct buf *b);

/* Releases the memory; the buffer is empty and usable again. */
void buf_free(struct buf *b);

#endif
