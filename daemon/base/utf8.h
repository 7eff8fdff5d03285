/* SPDX-License-Identifier: Apache-2.0 */
/*
 * utf8 - is this well-formed UTF-8? Pure.
 */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stddef.h>

/* The length of the well-formed sequence at p (Unicode, table 3-7), of which n > 0 bytes may be
 * read; 0 = there is none. */
size_t utf8_len(const unsigned char *p, size_t n);

#endif
