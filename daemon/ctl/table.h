/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table - rows of text in aligned columns; pure.
 */
#ifndef CTL_TABLE_H
#define CTL_TABLE_H

#include <stddef.h>

#include "base/buf.h"

struct table;

/* An empty table. headings are borrowed; columns, > 0, is their number. Never NULL; release with
 * table_destroy(). */
struct table *table_create(const char *const *headings, size_t columns);

/* Frees *t and sets it to NULL. NULL is fine. */
void table_destroy(struct table **t);

/* Adds a row of as many cells as the table has columns. The cells are copied; characters that
 * cannot be seen are escaped (units_put_visible()), and an empty cell becomes "-". */
void table_add(struct table *t, const struct str *cells);

/* The number of rows, without the headings. */
size_t table_rows(const struct table *t);

/* Appends headings and rows, with two spaces between columns, and no space at the end of a line. */
void table_put(struct buf *out, const struct table *t);

#endif
