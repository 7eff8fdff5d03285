/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memfile - a document as a sealed file in memory: the stdin of a hook (docs/design.md "Hook input"),
 * and the configuration that a child of the helper has read. A program can seek in it and open it again
 * as /dev/stdin; nobody can change it. In base because io and helper make them.
 */
#ifndef BASE_MEMFILE_H
#define BASE_MEMFILE_H

#include <stdint.h>

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

/* The same for a document that comes in pieces, so that all of it need not be in memory twice. */
struct memfile {
    int fd; /* -1 = there is none */
    uint64_t size;
    int error; /* of an append; 0 = none */
};

/* Begins one. ERR_IO if the system refuses. */
enum err_kind memfile_begin(struct memfile *m, const char *name, struct err *err) MUST_CHECK;

/* Appends a piece. memfile_end() tells whether that has worked. */
void memfile_append(struct memfile *m, struct str piece);

/* The document is complete: *fd as above. ERR_IO if the system has refused any of it; m has no file
 * then. */
enum err_kind memfile_end(struct memfile *m, int *fd, struct err *err) MUST_CHECK;

/* The first half of it, for two processes: a memory file to be filled. -1 with errno set if the
 * system refuses. */
int memfile_open(const char *name) MUST_CHECK;

/* The second half: writes data to an empty memory file and seals it. Returns 0 or an errno. */
int memfile_fill(int fd, struct str data) MUST_CHECK;

#endif
