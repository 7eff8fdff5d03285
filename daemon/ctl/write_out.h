/* SPDX-License-Identifier: Apache-2.0 */
/*
 * write_out - writes to stdout without a buffer, so that a reader of the pipe sees each line at once.
 */
#ifndef CTL_WRITE_OUT_H
#define CTL_WRITE_OUT_H

#include "base/buf.h"
#include "base/str.h"
#include "ctl/command.h"

/* Writes all bytes. Returns 0 or an errno. Safe in a signal handler. */
int write_out(struct str bytes);

/* Judges the result of write_out(): complains of an error, unless the reader has closed the pipe
 * (EPIPE). Returns EXIT_FINE or EXIT_NO. */
enum command_exit write_out_judge(int error, struct buf *complaint);

#endif
