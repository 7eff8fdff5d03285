/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table - rows of text in aligned columns; pure.
 */
#ifndef CTL_TABLE_H
#define CTL_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

struct table;

/* An empty table. headings are borrowed; columns, > 0, is their number. Never NULL; release with
 * table_destroy(). */
struct table *table_create(const char *const *headings, size_t columns);

/* Frees *t and sets it to NULL. NULL is fine. */
void table_destroy(struct table **t);

/* Adds a row of as many cells as the table has columns. The cells are copied; characters that
 * cannot be seen are escaped (visible_put()), and an empty cell becomes "-". */
void table_add(struct table *t, const struct str *cells);

/* Has any row a cell in this column that is neither empty nor "0" nor "no"? */
bool table_says(const struct table *t, size_t column);

/* Have the rows different cells in this column? */
bool table_differs(const struct table *t, size_t column);

/* Leaves a column out. */
void table_hide(struct table *t, size_t column);

/* The cells of this column may be cut by table_fit(). */
void table_may_cut(struct table *t, size_t column);

/* The cells of this column may lose their middle in table_fit(), if cutting those of table_may_cut()
 * is not enough. */
void table_may_shorten(struct table *t, size_t column);

/* Cuts cells of such columns, the widest ones first, until the lines have at most so many characters, or
 * nothing more can be cut. '~' stands for the characters that are left out. */
void table_fit(struct table *t, size_t width);

/* Headings and cells are printed in their tones (ctl/tone); without this, no colours. */
void table_colour(struct table *t);

/* The number of rows, without the headings. */
size_t table_rows(const struct table *t);

/* Appends headings and rows, with two spaces between columns, and no space at the end of a line. */
void table_put(struct buf *out, const struct table *t);

#endif
