/* SPDX-License-Identifier: Apache-2.0 */
/*
 * action - the commands that start something which goes on in the daemon, and wait for its end:
 * manual runs and comparisons; driver. Parameters and results are those of command_run().
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

#endif
