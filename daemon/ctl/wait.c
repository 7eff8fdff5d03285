/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/wait.h"

#include <stdio.h>

#include "base/visible.h"
#include "ctl/args.h"
#include "ctl/ask.h"
#include "ctl/clock.h"
#include "ctl/reader.h"

/* {"for":NAME,"done":true,"waits_for":[TEXT,...]} */
struct condition {
    bool done;
    struct buf missing; /* a line for each sentence */
};

static void on_leaf(void *arg, const struct leaf *leaf)
{
    struct condition *c = arg;

    if (reader_leads(leaf, 0, "done")) {
        c->done = leaf->type == JSON_TRUE;
    } else if (leaf->depth == 2 && str_is(leaf->path[0], "waits_for")) {
        buf_puts(&c->missing, "  ");
        visible_put(&c->missing, leaf->text);
        buf_putc(&c->missing, '\n');
    }
}

static enum command_exit show(const struct args *a, const struct buf *json, struct buf *out,
                              struct buf *complaint)
{
    struct condition c = {0};
    struct err err = {0};
    enum command_exit code = EXIT_FINE;

    if (reader_scan(buf_str(json), on_leaf, &c, &err) != ERR_OK) {
        buf_free(&c.missing);
        return ask_unreadable(a, &err, complaint);
    }
    if (a->output == OUTPUT_JSON)
        buf_append_str(out, buf_str(json));
    else if (c.done)
        buf_printf(out, "%s\n", a->wait_for);
    if (!c.done) {
        code = EXIT_NO;
        buf_printf(complaint, "not %s after %s:\n", a->wait_for,
                   a->timeout != NULL ? a->timeout : ARGS_TIMEOUT);
        buf_append_str(complaint, buf_str(&c.missing));
    }
    buf_free(&c.missing);
    return code;
}

enum command_exit wait_run(const struct args *a, struct buf *out, struct buf *complaint)
{
    uint64_t until_ms = clock_ms() + args_timeout_ms(a);
    struct buf json;
    char path[64];

    snprintf(path, sizeof(path), "/v1/wait/%s/follow", a->wait_for);
    enum command_exit code = ask_for_line(a, "GET", path, until_ms, &json, complaint);
    if (code == EXIT_FINE && json.len == 0) {
        snprintf(path, sizeof(path), "/v1/wait/%s", a->wait_for);
        code = ask_target(a, "GET", path, &json, complaint);
    }
    if (code == EXIT_FINE)
        code = show(a, &json, out, complaint);
    buf_free(&json);
    return code;
}
