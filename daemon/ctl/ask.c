/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/ask.h"

#include <time.h>

#include "base/visible.h"
#include "ctl/args.h"
#include "ctl/client.h"
#include "ctl/reader.h"
#include "ctl/terminal.h"
#include "proto/url.h"

void ask_put_path(struct buf *out, const char *path, const struct args *a)
{
    for (const char *p = path; *p != '\0'; p++) {
        if (p[0] == '/' && p[1] == '%') {
            size_t word = (size_t)(p[2] - '0');

            if (word >= a->word_count)
                return;
            buf_putc(out, '/');
            url_put_escaped(out, str_c(a->words[word]));
            p += 2;
        } else {
            buf_putc(out, *p);
        }
    }
}

struct listing_look ask_look(const struct args *a, enum listing_rows rows)
{
    return (struct listing_look){.rows = rows,
                                 .wide = a->output == OUTPUT_WIDE,
                                 .width = terminal_width_of_tables(),
                                 .colour = terminal_has_colour(),
                                 .now_s = (int64_t)time(NULL)};
}

void ask_on_error_leaf(void *arg, const struct leaf *leaf)
{
    if (reader_leads(leaf, 0, "error"))
        visible_put(arg, leaf->text);
}

enum command_exit ask_refused(const struct client_reply *reply, struct buf *complaint)
{
    struct err err = {0};
    size_t before = complaint->len;

    /* A body without that text is not the daemon's: the status is all that there is to say. */
    if (reader_scan(buf_str(&reply->body), ask_on_error_leaf, complaint, &err) != ERR_OK ||
        complaint->len == before)
        buf_printf(complaint, "the daemon answered with status %d", reply->status);
    buf_putc(complaint, '\n');
    return reply->status == 403 ? EXIT_NOT_ALLOWED : EXIT_NO;
}

enum command_exit ask_failed(const struct err *why, struct buf *complaint)
{
    buf_printf(complaint, "%s\n", why->text);
    return why->kind == ERR_FORBIDDEN ? EXIT_NOT_ALLOWED : EXIT_UNREACHABLE;
}

enum command_exit ask_daemon(const struct args *a, const char *method, const char *path,
                             struct buf *json, struct buf *complaint)
{
    struct buf target = {0};

    ask_put_path(&target, path, a);
    enum command_exit code = ask_target(a, method, buf_cstr(&target), json, complaint);
    buf_free(&target);
    return code;
}

enum command_exit ask_target(const struct args *a, const char *method, const char *target,
                             struct buf *json, struct buf *complaint)
{
    struct client_reply reply;
    struct err err = {0};

    *json = (struct buf){0};
    if (client_ask(a->socket, method, target, &reply, &err) != ERR_OK)
        return ask_failed(&err, complaint);
    if (reply.status == 200 || reply.status == 202) { /* 202: the action has begun */
        *json = reply.body;
        return EXIT_FINE;
    }
    enum command_exit code = ask_refused(&reply, complaint);
    buf_free(&reply.body);
    return code;
}

/* A callback for client_lines.on_line: the daemon sends one line. */
static bool take_line(void *arg, struct str line)
{
    buf_append_str(arg, line);
    return false;
}

enum command_exit ask_for_line(const struct args *a, const char *method, const char *target,
                               uint64_t until_ms, struct buf *json, struct buf *complaint)
{
    const struct client_lines lines = {
        .on_line = take_line, .arg = json, .out_fd = -1, .method = method, .until_ms = until_ms};
    struct client_reply refused;
    struct err err = {0};
    enum command_exit code = EXIT_FINE;

    *json = (struct buf){0};
    if (client_follow(a->socket, target, &lines, &refused, &err) != ERR_OK)
        code = ask_failed(&err, complaint);
    else if (refused.status != 200)
        code = ask_refused(&refused, complaint);
    buf_free(&refused.body);
    return code;
}

enum command_exit ask_unreadable(const struct args *a, const struct err *why, struct buf *complaint)
{
    buf_printf(complaint, "%s: is it informerd that answers there? %s\n", a->socket, why->text);
    return EXIT_UNREACHABLE;
}
