/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/events.h"

#include "base/visible.h"
#include "ctl/args.h"
#include "ctl/ask.h"
#include "ctl/follow.h"
#include "ctl/reader.h"

/* Appends one member of the line. "time" and "what" come first in the JSON, and need no names.
 * "seq", the number of the line, is for programs. */
static void on_leaf(void *arg, const struct leaf *leaf)
{
    struct buf *out = arg;

    if (leaf->depth != 1 || str_is(leaf->path[0], "seq"))
        return;
    if (out->len > 0)
        buf_putc(out, ' ');
    if (!str_is(leaf->path[0], "time") && !str_is(leaf->path[0], "what")) {
        visible_put(out, leaf->path[0]);
        buf_putc(out, '=');
    }
    if (leaf->type == JSON_TRUE || leaf->type == JSON_FALSE)
        buf_puts(out, leaf->type == JSON_TRUE ? "yes" : "no");
    else
        visible_put(out, leaf->text);
}

/* Appends a line of the journal (NDJSON; not empty) as "TIME WHAT NAME=VALUE ...". It stays one line
 * whatever the values are. A line that is no JSON is appended as it is, made visible. */
static void put_line(struct buf *out, struct str line)
{
    struct buf text = {0};
    struct err err = {0};

    if (reader_scan(line, on_leaf, &text, &err) != ERR_OK) {
        /* A line that cannot be read is shown as it is. */
        buf_clear(&text);
        visible_put(&text, str_of(line.p, line.n - (line.p[line.n - 1] == '\n')));
    }
    buf_append_str(out, buf_str(&text));
    buf_putc(out, '\n');
    buf_free(&text);
}

static void put_lines(struct buf *out, struct str text)
{
    while (text.n > 0) {
        const char *newline = memchr(text.p, '\n', text.n);
        size_t n = newline != NULL ? (size_t)(newline - text.p) + 1 : text.n;

        put_line(out, str_of(text.p, n));
        text = str_of(text.p + n, text.n - n);
    }
}

enum command_exit events_run(const struct args *a, struct buf *out, struct buf *complaint)
{
    bool raw = a->output == OUTPUT_JSON;
    struct buf lines = {0};

    if (a->follow)
        return follow_daemon(a, "/v1/events/follow", raw ? NULL : put_line, complaint);
    enum command_exit code = ask_daemon(a, "GET", "/v1/events", &lines, complaint);
    if (code == EXIT_FINE && raw)
        buf_append_str(out, buf_str(&lines));
    else if (code == EXIT_FINE)
        put_lines(out, buf_str(&lines));
    buf_free(&lines);
    return code;
}
