/* SPDX-License-Identifier: Apache-2.0 */
/*
 * output - cuts what a run prints into lines for the log, bounded; pure.
 */
#ifndef HOOK_OUTPUT_H
#define HOOK_OUTPUT_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* A longer line is cut into several. */
#define OUTPUT_LINE_BYTES 4096

/* The last bytes that are kept, over the limit or not: the reason of a failure stands at the
 * end. */
#define OUTPUT_TAIL_BYTES ((size_t)2048)

/* One line without its newline; borrowed until return. */
typedef void output_cb(void *arg, struct str line);

/* One stream of one run; zero-initialise but for limit. */
struct output {
    struct buf line;  /* bytes whose newline has not come yet */
    uint64_t limit;   /* bytes logged in all, then the rest is only counted */
    uint64_t taken;   /* bytes logged or waiting in line */
    uint64_t dropped; /* bytes over the limit */
    struct buf tail;  /* the last bytes, and some before them */
};

/* Takes n bytes; cb runs 0..n times before return. */
void output_feed(struct output *o, const char *data, size_t n, output_cb *cb, void *arg);

/* The last bytes so far, at most OUTPUT_TAIL_BYTES; borrowed until the next call. */
struct str output_tail(const struct output *o);

/* No more bytes will come: a last line without newline is handed out, the memory freed. */
void output_end(struct output *o, output_cb *cb, void *arg);

#endif
