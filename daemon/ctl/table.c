/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/table.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/panic.h"
#include "base/utf8.h"
#include "base/visible.h"
#include "ctl/tone.h"

/* GAP: spaces between columns. CUT_MIN: a column is not cut to fewer characters. */
enum { GAP = 2, CUT_MIN = 6 };

enum column_state {
    COLUMN_SHOWN,
    COLUMN_MAY_CUT,
    COLUMN_MAY_SHORTEN, /* when cutting the others has not been enough */
    COLUMN_HIDDEN,
};

struct table {
    const char *const *headings;
    size_t columns;
    size_t rows;
    size_t room;  /* cells that fit into `cells` */
    char **cells; /* row by row; each cell is allocated on its own */
    size_t *
        width; /* of each column: that of its widest cell or heading, or the width to which it was cut */
    enum column_state *state;
    bool colour;
};

struct table *table_create(const char *const *headings, size_t columns)
{
    ensure(columns > 0);
    struct table *t = MEM_NEW(struct table, .headings = headings, .columns = columns);

    t->width = mem_array(columns, sizeof(*t->width));
    t->state = mem_array(columns, sizeof(*t->state));
    for (size_t i = 0; i < columns; i++)
        t->width[i] = visible_width(str_c(headings[i]));
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
    free(t->state);
    free(t);
}

/* The text of a cell as it is printed. An empty cell would shift the columns for programs such as
 * awk. */
static char *cell(struct str text)
{
    struct buf visible = {0};

    visible_put(&visible, text.n > 0 ? text : str_c("-"));
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
        size_t width = visible_width(str_c(s));

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

bool table_says(const struct table *t, size_t column)
{
    for (size_t i = 0; i < t->rows; i++)
        if (tone_says_something(t->cells[i * t->columns + column]))
            return true;
    return false;
}

bool table_differs(const struct table *t, size_t column)
{
    for (size_t i = 1; i < t->rows; i++)
        if (strcmp(t->cells[i * t->columns + column], t->cells[column]) != 0)
            return true;
    return false;
}

void table_hide(struct table *t, size_t column)
{
    t->state[column] = COLUMN_HIDDEN;
}

void table_may_cut(struct table *t, size_t column)
{
    if (t->state[column] == COLUMN_SHOWN)
        t->state[column] = COLUMN_MAY_CUT;
}

void table_may_shorten(struct table *t, size_t column)
{
    if (t->state[column] == COLUMN_SHOWN)
        t->state[column] = COLUMN_MAY_SHORTEN;
}

void table_colour(struct table *t)
{
    t->colour = true;
}

static size_t width_of_lines(const struct table *t)
{
    size_t n = 0;

    for (size_t i = 0; i < t->columns; i++)
        if (t->state[i] != COLUMN_HIDDEN)
            n += t->width[i] + (n > 0 ? GAP : 0);
    return n;
}

/* The widest column in this state that may be cut further; t->columns = there is none. Headings are
 * not cut. */
static size_t widest(const struct table *t, enum column_state state)
{
    size_t found = t->columns;

    for (size_t i = 0; i < t->columns; i++) {
        size_t least = visible_width(str_c(t->headings[i]));
        bool can = t->state[i] == state && t->width[i] > least && t->width[i] > CUT_MIN;

        if (can && (found == t->columns || t->width[i] > t->width[found]))
            found = i;
    }
    return found;
}

void table_fit(struct table *t, size_t width)
{
    static const enum column_state order[] = {COLUMN_MAY_CUT, COLUMN_MAY_SHORTEN};
    size_t column;

    for (size_t i = 0; i < ARRAY_LEN(order); i++)
        while (width_of_lines(t) > width && (column = widest(t, order[i])) < t->columns)
            t->width[column]--;
}

static bool is_last(const struct table *t, size_t column)
{
    while (++column < t->columns)
        if (t->state[column] != COLUMN_HIDDEN)
            return false;
    return true;
}

/* The longest beginning of the text that fits into width columns. */
static struct str beginning(struct str text, size_t width)
{
    while (visible_width(text) > width)
        text = utf8_cut(text, text.n - 1);
    return text;
}

/* Appends what fits into width columns of the text: its beginning and, of a name, its end as well, as
 * names often differ there only. Returns how many columns it has filled. */
static size_t put_cut(struct buf *out, size_t width, enum column_state state, struct str text)
{
    size_t n = visible_width(text);
    size_t end = state == COLUMN_MAY_SHORTEN ? (width - 1) / 2 : 0;

    if (n <= width) {
        buf_append_str(out, text);
        return n;
    }
    struct str before_end = beginning(text, n - end);
    struct str last = str_of(text.p + before_end.n, text.n - before_end.n);
    struct str first = beginning(text, width - 1 - visible_width(last));
    buf_append_str(out, first);
    buf_putc(out, '~');
    buf_append_str(out, last);
    return visible_width(first) + 1 + visible_width(last);
}

/* The last column is not filled up, so that lines have no spaces at their ends. Colours take no room:
 * the text is cut before it gets its tone. */
static void put_cell(struct buf *out, const struct table *t, size_t column, enum tone tone,
                     struct str text)
{
    struct buf shown = {0};

    if (t->state[column] == COLUMN_HIDDEN)
        return;
    size_t n = put_cut(&shown, t->width[column], t->state[column], text);
    tone_put(out, t->colour, tone, buf_str(&shown));
    buf_free(&shown);
    if (is_last(t, column)) {
        buf_putc(out, '\n');
        return;
    }
    for (; n < t->width[column] + GAP; n++)
        buf_putc(out, ' ');
}

void table_put(struct buf *out, const struct table *t)
{
    for (size_t i = 0; i < t->columns; i++)
        put_cell(out, t, i, TONE_HEADING, str_c(t->headings[i]));
    for (size_t i = 0; i < t->rows * t->columns; i++) {
        size_t column = i % t->columns;

        put_cell(out, t, column, tone_of_cell(t->headings[column], t->cells[i]),
                 str_c(t->cells[i]));
    }
}
