/* SPDX-License-Identifier: Apache-2.0 */
/*
 * client - asks the control socket, one request on one connection; blocking, with a timeout but for
 * answers that go on.
 */
#ifndef CTL_CLIENT_H
#define CTL_CLIENT_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

struct client_reply {
    int status;
    struct buf body; /* the caller's, to be freed */
};

/* Sends the daemon behind the socket at path a request without a body. *out is overwritten, on
 * errors empty. Errors: ERR_NOT_FOUND and ERR_REFUSED (no daemon there), ERR_FORBIDDEN, ERR_CONFIG
 * (path cannot be one), ERR_TIMEOUT (nothing for 30 s), ERR_IO, ERR_CLOSED, ERR_PROTOCOL,
 * ERR_TOO_BIG; the text names the socket and what to do. */
enum err_kind client_ask(const char *path, const char *method, const char *target,
                         struct client_reply *out, struct err *err) MUST_CHECK;

/* Longer lines end a stream: larger than any object that informerd takes. */
#define CLIENT_LINE_BYTES ((size_t)64 * 1024 * 1024)

/* Where the lines of an answer that goes on are handed to. */
struct client_lines {
    /* One as it has come, with its newline, borrowed. False: it is enough. */
    bool (*on_line)(void *arg, struct str line);
    void *arg;
    int out_fd; /* a pipe or socket: it is enough when its reader is gone, too; -1 = none */
};

/* Sends GET and hands out the lines of the answer for as long as they come; it may be quiet for
 * ever. ERR_OK: with refusal->status 200 it was enough; with any other refusal->body, the caller's
 * to be freed, says why. *refusal is overwritten. ERR_CLOSED: informerd has ended it. ERR_TOO_BIG:
 * a line. Other errors are those of client_ask(). */
enum err_kind client_follow(const char *path, const char *target, const struct client_lines *lines,
                            struct client_reply *api_error, struct err *err) MUST_CHECK;

#endif
