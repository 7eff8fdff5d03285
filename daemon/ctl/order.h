/* SPDX-License-Identifier: Apache-2.0 */
/*
 * order - the command `run`: has the daemon run a hook (a manual run), and with --wait waits for
 * the end; driver.
 */
#ifndef CTL_ORDER_H
#define CTL_ORDER_H

#include "base/buf.h"
#include "ctl/command.h"

struct args;

/* `informerctl run HOOK [KEY] [--wait]`. EXIT_FINE: the manual run was started; with --wait: all
 * its runs have succeeded. Parameters and other results as for command_run(). */
enum command_exit order_run(const struct args *a, struct buf *out, struct buf *complaint);

#endif
