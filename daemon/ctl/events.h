/* SPDX-License-Identifier: Apache-2.0 */
/*
 * events - shows the daemon's journal, line by line, to people; driver.
 */
#ifndef CTL_EVENTS_H
#define CTL_EVENTS_H

#include "base/buf.h"
#include "ctl/command.h"

struct args;

/* `informerctl events [-f]`. Parameters and result as for command_run(). */
enum command_exit events_run(const struct args *a, struct buf *out, struct buf *complaint);

#endif
