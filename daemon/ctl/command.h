/* SPDX-License-Identifier: Apache-2.0 */
/*
 * command - the commands of informerctl: each asks the daemon and prints the answer; driver.
 */
#ifndef CTL_COMMAND_H
#define CTL_COMMAND_H

#include "base/buf.h"

struct args;

/* Exit codes of informerctl: docs/design.md "Exit codes". */
enum command_exit {
    EXIT_FINE = 0,
    EXIT_NO = 1, /* the answer is no, the request was refused, or the answer cannot be printed */
    EXIT_UNREACHABLE = 2,
    EXIT_USAGE = 64,
    EXIT_NOT_ALLOWED = 77,
};

/* Runs the command that a->words names. It appends its answer to out (for stdout), and complaints
 * to complaint (for stderr, without the name of the program). Commands that go on write to stdout
 * themselves. */
enum command_exit command_run(const struct args *a, struct buf *out, struct buf *complaint);

/* Appends the help text. */
void command_put_help(struct buf *out);

#endif
