/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record - `informerctl record`: writes the objects of watches and their changes to stdout, for
 * `informerd --replay`; driver.
 */
#ifndef CTL_RECORD_H
#define CTL_RECORD_H

#include "base/buf.h"
#include "base/str.h"
#include "ctl/command.h"

struct args;

/* Writes until it is killed, or until a stream ends. A last line of type CUT says why the recording
 * is not complete; so does complaint. out stays empty. */
enum command_exit record_run(const struct args *a, struct buf *out, struct buf *complaint);

/* Appends a line of a stream as a line of the recording: with the time in front. Returns false for
 * the ERROR line of a stream that informerd has cut off: then it appends a CUT line of this watch,
 * and the reason, made visible, to why. */
bool record_put_line(struct buf *out, struct str line, uint64_t wall_ns, const char *watch,
                     struct buf *why);

#endif
