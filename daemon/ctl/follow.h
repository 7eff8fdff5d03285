/* SPDX-License-Identifier: Apache-2.0 */
/*
 * follow - copies an answer without end to stdout, line by line, until informerd ends it or nobody
 * reads stdout any more; driver.
 */
#ifndef CTL_FOLLOW_H
#define CTL_FOLLOW_H

#include "base/buf.h"
#include "ctl/command.h"

struct args;

/* Sends GET for the path (ask_put_path()), and prints each line of the answer as soon as it comes. put
 * appends the text that is printed for a line; NULL = the line itself. EXIT_FINE: nobody reads stdout
 * any more. In the other cases a line in complaint says why: EXIT_UNREACHABLE: informerd has ended the
 * answer, or cannot be reached. EXIT_NO, EXIT_NOT_ALLOWED: informerd has refused. EXIT_NO: stdout
 * cannot be written. */
enum command_exit follow_daemon(const struct args *a, const char *path,
                                void (*put)(struct buf *out, struct str line),
                                struct buf *complaint);

#endif
