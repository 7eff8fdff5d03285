/* SPDX-License-Identifier: Apache-2.0 */
/*
 * line_reader - reads one pipe of a run as lines, and never makes the run wait; driver.
 */
#ifndef IO_LINE_READER_H
#define IO_LINE_READER_H

#include <stdbool.h>

#include "base/err.h"
#include "hook/output.h"

struct line_reader;
struct loop;

/* All are called from the loop or from line_reader_drain(). */
struct line_reader_events {
    output_cb *on_line; /* one line of output */
    /* once, from the loop alone: every writer has closed the pipe; dispose is allowed */
    void (*on_eof)(void *arg);
};

/* Makes the pipe, which nobody reads before line_reader_watch() or line_reader_drain(). limit:
 * bytes of output that become lines; the rest is read and dropped. events must outlive the reader.
 * ERR_IO: no descriptors are left. */
enum err_kind line_reader_create(struct loop *loop, uint64_t limit,
                                 const struct line_reader_events *events, void *arg,
                                 struct line_reader **out, struct err *err) MUST_CHECK;

/* Gives the program's end of the pipe away, once: the caller closes it or hands it over. */
int line_reader_take_writer(struct line_reader *c) MUST_CHECK;

/* From now on output is read as it comes, in the loop. For a run that ends at once this is not
 * worth the system calls. */
void line_reader_watch(struct line_reader *c);

/* Reads the output that is there now, so that the lines of a run that has ended come before its
 * result. True if every writer has closed the pipe: nothing more will come, and no on_eof either.
 * on_eof does not run inside. */
bool line_reader_drain(struct line_reader *c);

/* The end of the output so far (output_tail()); borrowed until the next call. */
struct str line_reader_tail(const struct line_reader *c);

/* Bytes of output over the limit so far. */
uint64_t line_reader_dropped(const struct line_reader *c);

/* The end for the user: *c is NULL; a last line without newline is handed out first. Returns the
 * bytes that were dropped over the limit. NULL is fine. */
uint64_t line_reader_dispose(struct line_reader **c);

#endif
