/* SPDX-License-Identifier: Apache-2.0 */
/*
 * utf8 - well-formed UTF-8: what is, and where it may be cut. Pure.
 */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stddef.h>

#include "base/str.h"

/* The length of the well-formed sequence at p (Unicode, table 3-7), of which n > 0 bytes may be
 * read; 0 = there is none. */
size_t utf8_len(const unsigned char *p, size_t n);

/* The longest beginning of at most max bytes that ends with a whole character. */
struct str utf8_cut(struct str text, size_t max);

#endif
