/* SPDX-License-Identifier: Apache-2.0 */
/*
 * top - a live view of watches and hooks; driver.
 */
#ifndef CTL_TOP_H
#define CTL_TOP_H

#include "base/buf.h"
#include "ctl/command.h"

struct args;

/* `informerctl top`. On a terminal it goes on until a key ends it; otherwise it appends one screen,
 * after a second in which the events are counted. Parameters and result as for command_run(). */
enum command_exit top_run(const struct args *a, struct buf *out, struct buf *complaint);

#endif
