/* SPDX-License-Identifier: Apache-2.0 */
/*
 * follow - copies an answer that goes on to stdout, line by line, until informerd ends it or nobody
 * reads stdout any more.
 */
#ifndef CTL_FOLLOW_H
#define CTL_FOLLOW_H

#include "base/buf.h"
#include "ctl/command.h"

struct args;

/* target is the path that is asked; put appends what is printed for a line, NULL = the line itself.
 * EXIT_FINE: stdout was closed. EXIT_UNREACHABLE: informerd ended it, or could not be asked;
 * complaint has got a line that says why. EXIT_NO, EXIT_NOT_ALLOWED: as it says. */
enum command_exit follow_daemon(const struct args *a, const char *target,
                                void (*put)(struct buf *out, struct str line),
                                struct buf *complaint);

#endif
