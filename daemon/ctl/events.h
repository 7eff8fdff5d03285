/* SPDX-License-Identifier: Apache-2.0 */
/*
 * events - lines of the daemon's journal for people; pure but for the asking.
 */
#ifndef CTL_EVENTS_H
#define CTL_EVENTS_H

#include "base/buf.h"
#include "ctl/command.h"

struct args;

/* Appends a line of the journal (NDJSON) as "TIME WHAT NAME=VALUE ...", on one line whatever the
 * values are. */
void events_put_line(struct buf *out, struct str line);

/* `informerctl events [-f]`. The rest as command_run(). */
enum command_exit events_run(const struct args *a, struct buf *out, struct buf *complaint);

#endif
