/* SPDX-License-Identifier: Apache-2.0 */
/*
 * order - has the daemon run a hook, and waits for the end if asked to.
 */
#ifndef CTL_ORDER_H
#define CTL_ORDER_H

#include "base/buf.h"
#include "ctl/command.h"

struct args;

/* `informerctl run HOOK [KEY] [--wait]`: EXIT_FINE = ordered, with --wait: all have succeeded. The
 * rest as command_run(). */
enum command_exit order_run(const struct args *a, struct buf *out, struct buf *complaint);

#endif
