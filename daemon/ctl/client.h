/* SPDX-License-Identifier: Apache-2.0 */
/*
 * client - asks the control socket, one request on one connection; blocking, with a timeout.
 */
#ifndef CTL_CLIENT_H
#define CTL_CLIENT_H

#include "base/buf.h"
#include "base/err.h"

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

#endif
