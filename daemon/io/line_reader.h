/* SPDX-License-Identifier: Apache-2.0 */
/*
 * line_reader - reads what a run writes to one of its pipes, without ever holding the run up; driver.
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
    output_cb *on_line;
    void (*on_eof)(void *arg); /* once: every writer has closed it; dispose is allowed */
};

/* Makes the pipe, which nobody looks at before line_reader_watch(). limit: bytes of output that become
 * lines; the rest is read and dropped. events must outlive the capture. ERR_IO: no descriptors
 * left. */
enum err_kind line_reader_create(struct loop *loop, uint64_t limit,
                                 const struct line_reader_events *events, void *arg,
                                 struct line_reader **out, struct err *err) MUST_CHECK;

/* The program's end of the pipe, once: the caller's to close or hand over. */
int line_reader_take_writer(struct line_reader *c) MUST_CHECK;

/* From now on what comes is read as it comes, in the loop. A pipe of a run that ends at once is not
 * worth the system calls. */
void line_reader_watch(struct line_reader *c);

/* Reads what is there now: the run has ended, its lines come before its result. True if every
 * writer has closed it: nothing more will come, on_eof neither. on_eof does not run inside. */
bool line_reader_drain(struct line_reader *c);

/* The last of what was read (output_tail()); borrowed until the next call. */
struct str line_reader_tail(const struct line_reader *c);

/* Bytes over the limit so far. */
uint64_t line_reader_dropped(const struct line_reader *c);

/* The end for the user: *c is NULL; a line without newline is handed out first. Returns the bytes
 * that were dropped over the limit. NULL is fine. */
uint64_t line_reader_dispose(struct line_reader **c);

#endif
