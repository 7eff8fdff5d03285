/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verify - has the daemon compare a watch with the server, waits for the end, and shows what
 * differs.
 */
#ifndef CTL_VERIFY_H
#define CTL_VERIFY_H

#include "base/buf.h"
#include "ctl/command.h"

struct args;

/* `informerctl verify WATCH`: EXIT_FINE = no differences. The rest as command_run(). */
enum command_exit verify_run(const struct args *a, struct buf *out, struct buf *complaint);

#endif
