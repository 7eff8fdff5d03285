/* SPDX-License-Identifier: Apache-2.0 */
/*
 * output - cuts the output of a run into lines for the log, bounded; pure.
 */
#ifndef HOOK_OUTPUT_H
#define HOOK_OUTPUT_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* A longer line is cut into several. */
#define OUTPUT_LINE_BYTES 4096

/* So many of the last bytes are kept, over the limit or not: a program prints the reason of its
 * failure last. */
#define OUTPUT_TAIL_BYTES ((size_t)2048)

/* Gets one line without its newline; borrowed until return. */
typedef void output_cb(void *arg, struct str line);

/* stdout or stderr of one run; zero-initialise but for limit. */
struct output {
    struct buf line;  /* bytes whose newline has not come yet */
    uint64_t limit;   /* so many bytes are logged; the rest is only counted */
    uint64_t taken;   /* bytes logged or waiting in line */
    uint64_t dropped; /* bytes over the limit */
    struct buf tail;  /* the last OUTPUT_TAIL_BYTES and some bytes before them */
};

/* Takes n bytes; cb is called 0..n times, before return. */
void output_feed(struct output *o, const char *data, size_t n, output_cb *cb, void *arg);

/* The last bytes so far, at most OUTPUT_TAIL_BYTES; borrowed until the next call. */
struct str output_tail(const struct output *o);

/* The output has ended: hands out a last line without a newline. */
void output_end(struct output *o, output_cb *cb, void *arg);

/* Frees the memory. */
void output_free(struct output *o);

#endif
