/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/follow.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "ctl/args.h"
#include "ctl/ask.h"
#include "ctl/client.h"

/* The receiver of the lines. */
struct printer {
    void (*put)(struct buf *out, struct str line);
    int failure; /* errno of the write that failed; 0 = no write has failed */
};

/* Writes without a buffer: a reader of the pipe sees each line at once. */
static bool print_bytes(struct printer *p, struct str line)
{
    while (line.n > 0) {
        ssize_t n = write(STDOUT_FILENO, line.p, line.n);

        if (n < 0 && errno != EINTR) {
            p->failure = errno;
            return false;
        }
        if (n > 0)
            line = str_of(line.p + n, line.n - (size_t)n);
    }
    return true;
}

/* A callback for client_lines.on_line. */
static bool print_line(void *arg, struct str line)
{
    struct printer *p = arg;
    struct buf text = {0};

    if (p->put == NULL)
        return print_bytes(p, line);
    p->put(&text, line);
    bool more = print_bytes(p, buf_str(&text));
    buf_free(&text);
    return more;
}

enum command_exit follow_daemon(const struct args *a, const char *path,
                                void (*put)(struct buf *out, struct str line),
                                struct buf *complaint)
{
    struct printer p = {.put = put};
    const struct client_lines lines = {print_line, &p, STDOUT_FILENO};
    struct client_reply refused;
    struct err err = {0};
    enum command_exit code = EXIT_FINE;
    struct buf target = {0};

    ask_put_path(&target, path, a);
    if (client_follow(a->socket, buf_cstr(&target), &lines, &refused, &err) != ERR_OK) {
        code = ask_failed(&err, complaint);
    } else if (refused.status != 200) {
        code = ask_refused(&refused, complaint);
    } else if (p.failure != 0 && p.failure != EPIPE) { /* EPIPE: the reader has enough */
        buf_printf(complaint, "stdout: %s\n", strerror(p.failure)); /* NOLINT(concurrency-*) */
        code = EXIT_NO;
    }
    buf_free(&target);
    buf_free(&refused.body);
    return code;
}
