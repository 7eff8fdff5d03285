/* SPDX-License-Identifier: Apache-2.0 */
/*
 * action - the commands that start something which goes on in the daemon, and wait for its end:
 * manual runs, comparisons, and the removal of files; and the level of the log; driver. Parameters and
 * results are those of command_run().
 */
#ifndef CTL_ACTION_H
#define CTL_ACTION_H

#include "base/buf.h"
#include "ctl/command.h"

struct args;

/* `informerctl run HOOK [KEY] [--wait]`: has the daemon run the hook. EXIT_FINE: the manual run was
 * started; with --wait: all its runs have succeeded. At the timeout they go on, as nothing cancels a
 * run. */
enum command_exit action_run(const struct args *a, struct buf *out, struct buf *complaint);

/* `informerctl verify WATCH`: has the daemon compare the watch with the server (an audit), waits for
 * the end, and shows the differences. EXIT_NO: there are some, or the comparison has failed or was
 * lost. */
enum command_exit action_verify(const struct args *a, struct buf *out, struct buf *complaint);

/* `informerctl log-level [LEVEL]`: sets the level if one is given, and shows the levels. */
enum command_exit action_log_level(const struct args *a, struct buf *out, struct buf *complaint);

/* `informerctl forget HOOK [--files]`: has the daemon forget a hook that is not configured any more;
 * with --files it removes the hook's output files first, and the command waits for that. EXIT_NO: some
 * files stay, each with a line of complaint, or there is nothing to forget. */
enum command_exit action_forget(const struct args *a, struct buf *out, struct buf *complaint);

#endif
