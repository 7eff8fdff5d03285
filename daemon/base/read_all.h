/* SPDX-License-Identifier: Apache-2.0 */
/*
 * read_all - reads the whole of a file that should be small.
 */
#ifndef BASE_READ_ALL_H
#define BASE_READ_ALL_H

#include <stddef.h>

#include "base/buf.h"
#include "base/compiler.h"

/* Appends all that is left of fd to *out. Returns 0 or an errno; EFBIG: there are more than `most` bytes, and
 * *out has the first ones. */
int read_all(int fd, size_t most, struct buf *out) MUST_CHECK;

#endif
