/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/repeat.h"

#include <poll.h>
#include <unistd.h>

#include "ctl/reader.h"
#include "ctl/write_out.h"

enum { EVERY_MS = 1000 };

static void on_leaf(void *arg, const struct leaf *leaf)
{
    const struct str name = leaf->depth > 0 ? leaf->path[leaf->depth - 1] : str_c("");
    struct buf *out = arg;

    if (name.n > 1 && str_is(str_of(name.p + name.n - 2, 2), "_s"))
        return;
    for (size_t i = 0; i < leaf->depth; i++)
        buf_printf(out, "/%.*s", STR_ARG(leaf->path[i]));
    buf_printf(out, "=%d%.*s\n", (int)leaf->type, STR_ARG(leaf->text));
}

void repeat_put_still(struct buf *out, struct str json)
{
    struct err err = {0};

    /* The command that prints the answer complains if it is no JSON. */
    if (reader_scan(json, on_leaf, out, &err) != ERR_OK)
        buf_append_str(out, json);
}

/* False: nobody reads stdout any more. */
static bool pause_between(void)
{
    struct pollfd p = {.fd = STDOUT_FILENO};

    return poll(&p, 1, EVERY_MS) <= 0 || (p.revents & (POLLERR | POLLHUP)) == 0;
}

/* Prints the answer if it is another one than `seen`, which becomes this one. Returns 0 or an errno. */
static int show(struct buf *seen, const struct buf *json, const struct buf *out)
{
    struct buf still = {0};
    struct buf text = {0};

    if (seen->len > 0)
        buf_putc(&text, '\n');
    buf_append_str(&text, buf_str(out));
    buf_putc(&still, '\n'); /* never empty, whatever the answer is */
    repeat_put_still(&still, buf_str(json));
    int error = str_eq(buf_str(&still), buf_str(seen)) ? 0 : write_out(buf_str(&text));
    buf_free(&text);
    buf_free(seen);
    *seen = still;
    return error;
}

enum command_exit repeat_run(repeat_ask *ask, void *arg, struct buf *complaint)
{
    enum command_exit code;
    struct buf seen = {0};
    bool answered;
    int error = 0;

    do {
        struct buf json = {0};
        struct buf out = {0};

        code = ask(arg, &json, &out, complaint);
        answered = complaint->len == 0 && (code == EXIT_FINE || code == EXIT_NO);
        if (answered)
            error = show(&seen, &json, &out);
        buf_free(&json);
        buf_free(&out);
    } while (answered && error == 0 && pause_between());
    buf_free(&seen);
    if (answered)
        return write_out_judge(error, complaint);
    return complaint->len == 0 ? EXIT_FINE : code;
}
