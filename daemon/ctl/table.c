/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/table.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/panic.h"
#include "ctl/units.h"

enum { GAP = 2 }; /* spaces between columns */

struct table {
    const char *const *headings;
    size_t columns;
    size_t rows;
    size_t room;   /* cells that fit into `cells` */
    char **cells;  /* row by row; each cell is allocated on its own */
    size_t *width; /* of each column: of its widest cell or heading */
};

struct table *table_create(const char *const *headings, size_t columns)
{
    ensure(columns > 0);
    struct table *t = MEM_NEW(struct table, .headings = headings, .columns = columns);

    t->width = mem_array(columns, sizeof(*t->width));
    for (size_t i = 0; i < columns; i++)
        t->width[i] = units_width(str_c(headings[i]));
    return t;
}

void table_destroy(struct table **tp)
{
    struct table *t = *tp;

    if (t == NULL)
        return;
    *tp = NULL;
    for (size_t i = 0; i < t->rows * t->columns; i++)
        free(t->cells[i]);
    free(t->cells);
    free(t->width);
    free(t);
}

/* The text of a cell as it is printed. An empty cell would shift the columns for programs such as
 * awk. */
static char *cell(struct str text)
{
    struct buf visible = {0};

    units_put_visible(&visible, text.n > 0 ? text : str_c("-"));
    char *s = mem_strndup(visible.data, visible.len);
    buf_free(&visible);
    return s;
}

void table_add(struct table *t, const struct str *cells)
{
    size_t used = t->rows * t->columns;

    if (used + t->columns > t->room) {
        t->room = (used + t->columns) * 2;
        t->cells = mem_realloc(t->cells, t->room * sizeof(*t->cells));
    }
    for (size_t i = 0; i < t->columns; i++) {
        char *s = cell(cells[i]);
        size_t width = units_width(str_c(s));

        t->cells[used + i] = s;
        if (width > t->width[i])
            t->width[i] = width;
    }
    t->rows++;
}

size_t table_rows(const struct table *t)
{
    return t->rows;
}

/* The last column is not filled up, so that lines have no spaces at their ends. */
static void put_cell(struct buf *out, const struct table *t, size_t column, struct str text)
{
    buf_append_str(out, text);
    if (column + 1 == t->columns) {
        buf_putc(out, '\n');
        return;
    }
    for (size_t i = units_width(text); i < t->width[column] + GAP; i++)
        buf_putc(out, ' ');
}

void table_put(struct buf *out, const struct table *t)
{
    for (size_t i = 0; i < t->columns; i++)
        put_cell(out, t, i, str_c(t->headings[i]));
    for (size_t i = 0; i < t->rows * t->columns; i++)
        put_cell(out, t, i % t->columns, str_c(t->cells[i]));
}
