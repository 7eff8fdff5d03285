/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/follow.h"

#include <unistd.h>

#include "ctl/args.h"
#include "ctl/ask.h"
#include "ctl/client.h"
#include "ctl/terminal.h"
#include "ctl/write_out.h"

/* The receiver of the lines. */
struct printer {
    void (*put)(struct buf *out, struct str line); /* NULL: the line is JSON, and stays so */
    int failure; /* errno of the write that failed; 0 = no write has failed */
};

/* A callback for client_lines.on_line. */
static bool print_line(void *arg, struct str line)
{
    struct printer *p = arg;
    struct buf text = {0};

    if (p->put != NULL)
        p->put(&text, line);
    else
        terminal_put_json(&text, line);
    p->failure = write_out(buf_str(&text));
    buf_free(&text);
    return p->failure == 0;
}

enum command_exit follow_daemon(const struct args *a, const char *path,
                                void (*put)(struct buf *out, struct str line),
                                struct buf *complaint)
{
    struct printer p = {.put = put};
    const struct client_lines lines = {.on_line = print_line, .arg = &p, .out_fd = STDOUT_FILENO};
    struct client_reply refused;
    struct err err = {0};
    struct buf target = {0};
    enum command_exit code;

    ask_put_path(&target, path, a);
    if (client_follow(a->socket, buf_cstr(&target), &lines, &refused, &err) != ERR_OK) {
        code = ask_failed(&err, complaint);
    } else if (refused.status != 200) {
        code = ask_refused(&refused, complaint);
    } else {
        code = write_out_judge(p.failure, complaint);
    }
    buf_free(&target);
    buf_free(&refused.body);
    return code;
}
