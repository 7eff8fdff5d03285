/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ask - one question to the daemon of a command line, with what is said when it comes to nothing.
 */
#ifndef CTL_ASK_H
#define CTL_ASK_H

#include "base/buf.h"
#include "base/err.h"
#include "ctl/command.h"

struct args;
struct client_reply;

/* What the daemon is asked. */
struct ask {
    const char *method;
    const char *target;
};

/* EXIT_FINE: *json is the answer. Otherwise complaint has got a line that says why. *json is
 * overwritten and the caller's, to be freed. */
enum command_exit ask_daemon(const struct args *a, const struct ask *what, struct buf *json,
                             struct buf *complaint) MUST_CHECK;

/* Complains in the daemon's own words about a status that is none of success; returns the exit
 * code. */
enum command_exit ask_refused(const struct client_reply *reply, struct buf *complaint);

/* Complains that the daemon could not be asked; returns the exit code. */
enum command_exit ask_failed(const struct err *why, struct buf *complaint);

/* Complains about an answer that cannot be read; returns the exit code. */
enum command_exit ask_unreadable(const struct args *a, const struct err *why,
                                 struct buf *complaint);

#endif
