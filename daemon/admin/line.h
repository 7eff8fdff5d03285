/* SPDX-License-Identifier: Apache-2.0 */
/*
 * line - a JSON value as one line among others (NDJSON); pure.
 */
#ifndef ADMIN_LINE_H
#define ADMIN_LINE_H

#include <stddef.h>

/* Lays a JSON value of n bytes out on one line. A server may use many: what ends one becomes a
 * blank; in strings it is always escaped. */
void line_flatten(char *json, size_t n);

#endif
