/* SPDX-License-Identifier: Apache-2.0 */
/*
 * line - a JSON value as one line among others (NDJSON); pure.
 */
#ifndef ADMIN_LINE_H
#define ADMIN_LINE_H

#include <stddef.h>

/* Puts a JSON value of n bytes on one line, in place. A server may send a value with line breaks
 * between its tokens: CR and LF become blanks. Inside strings they are always escaped. */
void line_flatten(char *json, size_t n);

#endif
