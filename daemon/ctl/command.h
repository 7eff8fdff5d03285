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
    EXIT_CONFIG = 78, /* of reload: the configuration is not good */
};

/* Runs the command that a->words names. It appends its answer to out (for stdout), and complaints
 * to complaint (for stderr, without the name of the program). Commands that go on write to stdout
 * themselves. */
enum command_exit command_run(const struct args *a, struct buf *out, struct buf *complaint);

/* Calls cb with the name of each command. */
void command_each(void (*cb)(void *arg, const char *name), void *arg);

/* Calls cb with the name of each option that the command has ("output"); of all if it is NULL or
 * unknown. */
void command_each_option(const char *command, void (*cb)(void *arg, const char *name), void *arg);

/* The arguments of the command as the help text has them ("SOURCE [KEY]"); NULL = it is unknown. */
const char *command_arguments(const char *command);

/* Appends the help text. */
void command_put_help(struct buf *out);

#endif
