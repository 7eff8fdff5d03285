/* SPDX-License-Identifier: Apache-2.0 */
/*
 * utf8 - finds well-formed UTF-8, and where a text may be cut. Pure.
 */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stddef.h>

#include "base/str.h"

/* The length of the well-formed sequence at p (The Unicode Standard, table 3-7), of which n > 0
 * bytes may be read; 0 = the bytes are not well-formed. */
size_t utf8_len(const unsigned char *p, size_t n);

/* The longest beginning of text with at most max bytes that ends with a whole character. Of a text
 * that is not well-formed at least max - 3 bytes stay. */
struct str utf8_cut(struct str text, size_t max);

#endif
