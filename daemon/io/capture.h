/* SPDX-License-Identifier: Apache-2.0 */
/*
 * capture - reads what a run writes to one of its pipes, without ever holding the run up; driver.
 */
#ifndef IO_CAPTURE_H
#define IO_CAPTURE_H

#include <stdbool.h>

#include "base/err.h"
#include "hook/output.h"

struct capture;
struct loop;

/* All are called from the loop or from capture_drain(). */
struct capture_events {
    output_cb *on_line;
    void (*on_eof)(void *arg); /* once: every writer has closed it; dispose is allowed */
};

/* Makes the pipe, which nobody looks at before capture_watch(). limit: bytes of output that become
 * lines; the rest is read and dropped. events must outlive the capture. ERR_IO: no descriptors
 * left. */
enum err_kind capture_create(struct loop *loop, uint64_t limit, const struct capture_events *events,
                             void *arg, struct capture **out, struct err *err) MUST_CHECK;

/* The program's end of the pipe, once: the caller's to close or hand over. */
int capture_take_writer(struct capture *c) MUST_CHECK;

/* From now on what comes is read as it comes, in the loop. A pipe of a run that ends at once is not
 * worth the system calls. */
void capture_watch(struct capture *c);

/* Reads what is there now: the run has ended, its lines come before its result. True if every
 * writer has closed it: nothing more will come, on_eof neither. on_eof does not run inside. */
bool capture_drain(struct capture *c);

/* The last of what was read (output_tail()); borrowed until the next call. */
struct str capture_tail(const struct capture *c);

/* Bytes over the limit so far. */
uint64_t capture_dropped(const struct capture *c);

/* The end for the user: *c is NULL; a line without newline is handed out first. Returns the bytes
 * that were dropped over the limit. NULL is fine. */
uint64_t capture_dispose(struct capture **c);

#endif
