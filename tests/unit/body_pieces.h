/* SPDX-License-Identifier: Apache-2.0 */
/*
 * body_pieces - gives a body to a reader piece by piece, each in memory of its own, so that a
 * sanitizer sees a read behind its end; pure.
 */
#ifndef UNIT_BODY_PIECES_H
#define UNIT_BODY_PIECES_H

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

/* Gives the pieces of body to feed() until it fails or the body is over: the first piece has first
 * bytes, the others piece bytes each. Returns the last result of feed(). */
enum err_kind body_pieces_feed(struct str body, size_t first, size_t piece,
                               enum err_kind (*feed)(void *reader, const char *data, size_t n,
                                                     struct err *err),
                               void *reader, struct err *err);

/* Cuts body in two at each place, and into pieces of 1 to 11 bytes. read() reads the body in such
 * pieces and must succeed; *said must be want each time. */
void body_pieces_check(const char *body,
                       enum err_kind (*read)(struct str body, size_t first, size_t piece,
                                             struct err *err),
                       struct buf *said, const char *want);

#endif
