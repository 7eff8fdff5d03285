/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/findings.h"

#include <string.h>

#include "base/visible.h"
#include "ctl/reader.h"

enum { INDENT = 4 };

struct findings {
    struct buf *out;
    size_t width;
    size_t n;
    struct buf line; /* of the finding that is being read */
};

/* Appends the words of a line; one that would pass the width begins a new line. */
static void put_wrapped(struct buf *out, struct str line, size_t width)
{
    size_t column = 0;

    while (line.n > 0) {
        const char *space = memchr(line.p, ' ', line.n);
        struct str word = {line.p, space != NULL ? (size_t)(space - line.p) : line.n};
        size_t n = visible_width(word);

        if (column > 0 && width > 0 && column + 1 + n > width) {
            buf_printf(out, "\n%*s", INDENT, "");
            column = INDENT;
        } else if (column > 0) {
            buf_putc(out, ' ');
            column++;
        }
        buf_append_str(out, word);
        column += n;
        line = (struct str){word.p + word.n, line.n - word.n};
        if (line.n > 0)
            line = (struct str){line.p + 1, line.n - 1};
    }
    buf_putc(out, '\n');
}

/* The daemon writes the members in this order: id, where, text, advice. */
static void on_leaf(void *arg, const struct leaf *leaf)
{
    struct findings *f = arg;

    if (leaf->depth != 3 || !str_is(leaf->path[0], "findings") || leaf->type != JSON_STRING ||
        str_is(leaf->path[2], "id"))
        return;
    if (str_is(leaf->path[2], "text"))
        buf_puts(&f->line, ": ");
    else if (str_is(leaf->path[2], "advice"))
        buf_puts(&f->line, " -> ");
    visible_put(&f->line, leaf->text);
    if (!str_is(leaf->path[2], "advice"))
        return;
    put_wrapped(f->out, buf_str(&f->line), f->width);
    buf_clear(&f->line);
    f->n++;
}

enum err_kind findings_put(struct buf *out, struct str json, size_t width, size_t *n,
                           struct err *err)
{
    struct findings f = {.out = out, .width = width};
    enum err_kind kind = reader_scan(json, on_leaf, &f, err);

    buf_free(&f.line);
    *n = f.n;
    if (kind != ERR_OK)
        return err_wrap(err, "the answer cannot be read");
    if (f.n == 0)
        buf_puts(out, "nothing was found\n");
    return ERR_OK;
}
