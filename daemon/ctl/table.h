/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table - rows of text in aligned columns; pure.
 */
#ifndef CTL_TABLE_H
#define CTL_TABLE_H

#include <stddef.h>

#include "base/buf.h"

struct table;

/* headings: borrowed; columns > 0 of them. Never NULL. */
struct table *table_create(const char *const *headings, size_t columns);

/* Frees *t and sets it to NULL. NULL is fine. */
void table_destroy(struct table **t);

/* Adds a row of as many cells as there are columns. They are copied; what is not fit to be seen is
 * escaped (units_put_visible), an empty one becomes "-". */
void table_add(struct table *t, const struct str *cells);

/* Rows so far. */
size_t table_rows(const struct table *t);

/* Appends headings and rows; two spaces between columns, none at the ends of lines. */
void table_put(struct buf *out, const struct table *t);

#endif
