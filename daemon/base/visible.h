/* SPDX-License-Identifier: Apache-2.0 */
/*
 * visible - decides which characters of a text from outside are shown as they are; pure. This is the only
 * place of that decision: logs, tables, pages, metrics and answers all come here. A text that is shown
 * stays on its line, moves no cursor, keeps the order of its letters, and is the text that it looks like.
 */
#ifndef BASE_VISIBLE_H
#define BASE_VISIBLE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/str.h"

/* Is the byte a character of ASCII that is shown as it is? */
static inline bool visible_ascii(unsigned char c)
{
    return c >= ' ' && c < 0x7f;
}

/* The length of the character at p, of which n > 0 bytes may be read, if it is shown as it is. 0: it
 * is escaped. These are: bytes that are no UTF-8, control characters (C0, DEL, C1), line and paragraph
 * separators, and all that is invisible (Default_Ignorable_Code_Point of Unicode: marks and overrides of
 * writing direction, zero width, tags, variation selectors). */
size_t visible_len(const unsigned char *p, size_t n);

/* Appends the escape of the character at p, for which visible_len() has given 0: \n, or \uXXXX as in JSON,
 * two of them beyond U+FFFF; a byte that is no UTF-8 as \u00XX. Returns the length of the character. */
size_t visible_escape(struct buf *out, const unsigned char *p, size_t n);

/* Appends the text with escapes. */
void visible_put(struct buf *out, struct str text);

/* Appends the text with escapes; the ends of its lines stay. */
void visible_put_lines(struct buf *out, struct str text);

/* Appends JSON with escapes: it stays valid and means the same. Line ends stay; tabs and carriage returns,
 * which JSON has between values only, become blanks. */
void visible_put_json(struct buf *out, struct str json);

/* The columns of a terminal that the text (with escapes) takes: two for a wide character, none for a mark
 * that combines with the one before it. */
size_t visible_width(struct str text);

#endif
