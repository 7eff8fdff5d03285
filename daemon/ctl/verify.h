/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verify - the command `verify`: has the daemon compare a watch with the server (an audit), waits
 * for the end, and shows the differences; driver.
 */
#ifndef CTL_VERIFY_H
#define CTL_VERIFY_H

#include "base/buf.h"
#include "ctl/command.h"

struct args;

/* `informerctl verify WATCH`. EXIT_FINE: there are no differences. Parameters and other results as
 * for command_run(). */
enum command_exit verify_run(const struct args *a, struct buf *out, struct buf *complaint);

#endif
