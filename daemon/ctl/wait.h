/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wait - waits until informerd is synced, ready or idle; driver.
 */
#ifndef CTL_WAIT_H
#define CTL_WAIT_H

#include "base/buf.h"
#include "ctl/command.h"

struct args;

/* `informerctl wait --for CONDITION`. The daemon says when the condition holds: nothing is polled.
 * EXIT_NO: the timeout is over; complaint names what is missing. Parameters and result as for
 * command_run(). */
enum command_exit wait_run(const struct args *a, struct buf *out, struct buf *complaint);

#endif
