/* SPDX-License-Identifier: Apache-2.0 */
/*
 * events - shows the daemon's journal, line by line, to people; driver.
 */
#ifndef CTL_EVENTS_H
#define CTL_EVENTS_H

#include "base/buf.h"
#include "ctl/command.h"

struct args;

/* Appends a line of the journal (NDJSON; not empty) as "TIME WHAT NAME=VALUE ...". It stays one
 * line whatever the values are. A line that is no JSON is appended as it is, made visible. */
void events_put_line(struct buf *out, struct str line);

/* `informerctl events [-f]`. Parameters and result as for command_run(). */
enum command_exit events_run(const struct args *a, struct buf *out, struct buf *complaint);

#endif
