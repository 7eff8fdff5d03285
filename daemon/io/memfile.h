/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memfile - a document as a sealed file in memory: what a hook gets on stdin
 * (docs/design.md "Hook input"). A program can seek in it and open it again as /dev/stdin; nobody
 * can change it.
 */
#ifndef IO_MEMFILE_H
#define IO_MEMFILE_H

#include "base/compiler.h"
#include "base/err.h"
#include "base/str.h"

/* Copies data into a new memory file. *fd is sealed, close-on-exec, at position 0, and the caller's
 * to close: whoever writes to it is refused (EPERM). name shows up in /proc/PID/fd and is cut to what
 * the system takes. Its mode is 0444: /dev/stdin opened by name is checked against the file's owner
 * (main's user) and mode, and a hook may run as any user; only who holds a descriptor can name it.
 * ERR_IO if the system refuses. */
enum err_kind memfile_create(const char *name, struct str data, int *fd,
                             struct err *err) MUST_CHECK;

#endif
