/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/path_list.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/panic.h"
#include "proto/json_path.h"

/* Takes the first line off text, without its '\n'. */
static struct str take_line(struct str *text)
{
    const char *end = memchr(text->p, '\n', text->n);
    struct str line = str_of(text->p, end != NULL ? (size_t)(end - text->p) : text->n);
    size_t taken = line.n + (end != NULL);

    *text = str_of(text->p + taken, text->n - taken);
    return line;
}

static size_t count_lines(struct str text)
{
    size_t n = 0;

    for (; text.n > 0; n++)
        take_line(&text);
    return n;
}

static int by_bytes(const void *x, const void *y)
{
    return str_cmp(*(const struct str *)x, *(const struct str *)y);
}

size_t path_list_sort(struct buf *list)
{
    struct str rest = buf_str(list);
    size_t n = count_lines(rest);
    struct str *lines = mem_array(n, sizeof(*lines));
    struct buf sorted = {0};
    size_t unique = 0;

    for (size_t i = 0; i < n; i++)
        lines[i] = take_line(&rest);
    qsort(lines, n, sizeof(*lines), by_bytes);
    for (size_t i = 0; i < n; i++) {
        if (i > 0 && str_eq(lines[i - 1], lines[i]))
            continue;
        buf_append_str(&sorted, lines[i]);
        buf_putc(&sorted, '\n');
        unique++;
    }
    free(lines);
    buf_free(list);
    *list = sorted;
    return unique;
}

/* Parses the n lines of list: NULL for a line that is no path. *longest is the largest number of
 * steps of a path. */
static struct json_path **parse_all(const struct buf *list, size_t n, size_t *longest)
{
    struct json_path **paths = mem_array(n, sizeof(struct json_path *));
    struct str rest = buf_str(list);

    *longest = 1;
    for (size_t i = 0; i < n; i++) {
        struct str line = take_line(&rest);
        char *text = mem_strndup(line.p, line.n);

        if (json_path_parse(text, &paths[i], NULL) == ERR_OK &&
            json_path_length(paths[i]) > *longest)
            *longest = json_path_length(paths[i]);
        free(text);
    }
    return paths;
}

/* Cuts the paths to their first steps. whole has the same paths as text, one line each. */
static struct buf cut_all(struct json_path *const *paths, struct str whole, size_t steps)
{
    struct buf list = {0};

    for (size_t i = 0; whole.n > 0; i++) {
        struct str line = take_line(&whole);

        if (paths[i] != NULL && steps < json_path_length(paths[i]))
            /* The line ends where the first step begins that is cut off. */
            line.n = json_path_step(paths[i], steps).character - 1;
        buf_append_str(&list, line);
        buf_putc(&list, '\n');
    }
    return list;
}

void path_list_limit(struct buf *list, size_t limit)
{
    size_t n = path_list_sort(list);
    size_t steps = 0;
    size_t fit = n;

    ensure(limit > 0);
    if (n <= limit)
        return;
    struct json_path **paths = parse_all(list, n, &steps);
    struct buf cut = {0};
    /* Cutting makes equal paths of different ones, and the sort drops doubles. The cut is shortened
     * step by step until few enough are left. */
    while (fit > limit && --steps > 0) {
        buf_free(&cut);
        cut = cut_all(paths, buf_str(list), steps);
        fit = path_list_sort(&cut);
    }
    if (fit > limit) {
        buf_clear(&cut);
        buf_puts(&cut, PATH_LIST_ALL);
    }
    for (size_t i = 0; i < n; i++)
        json_path_destroy(&paths[i]);
    free(paths);
    buf_free(list);
    *list = cut;
}
