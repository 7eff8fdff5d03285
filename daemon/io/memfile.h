/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memfile - a document as a sealed file in memory: the stdin of a hook
 * (docs/design.md "Hook input"). A program can seek in it and open it again as /dev/stdin; nobody
 * can change it.
 */
#ifndef IO_MEMFILE_H
#define IO_MEMFILE_H

#include "base/compiler.h"
#include "base/err.h"
#include "base/str.h"

/* Copies data into a new memory file. *fd is sealed, close-on-exec, at position 0, and the caller's
 * to close. Writing to it fails (EPERM). name shows up in /proc/PID/fd and is cut to the length
 * that the system takes. The mode is 0444: opening /dev/stdin by name is checked against the owner
 * of the file (main's user) and the mode, and a hook may run as any user; only a process that has a
 * descriptor can name the file. ERR_IO if the system refuses. */
enum err_kind memfile_create(const char *name, struct str data, int *fd,
                             struct err *err) MUST_CHECK;

#endif
