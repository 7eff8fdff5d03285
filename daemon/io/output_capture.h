/* SPDX-License-Identifier: Apache-2.0 */
/*
 * output_capture - collects the stdout of a command that is to become a file
 * (docs/design.md "Output files"), whole and bounded; driver.
 */
#ifndef IO_OUTPUT_CAPTURE_H
#define IO_OUTPUT_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/str.h"

struct loop;
struct output_capture;

/* All are called from the loop or from output_capture_drain(). */
struct output_capture_events {
    /* Once: more came than `max`; all that was kept is dropped, and further output is read and
     * dropped. */
    void (*on_full)(void *arg);
    /* Once, from the loop alone: every writer has closed the pipe; dispose is allowed. */
    void (*on_eof)(void *arg);
};

/* Makes the pipe, which nobody reads before output_capture_watch() or output_capture_drain(). max:
 * bytes that are kept at most. events must outlive the capture. ERR_IO: no descriptors are left. */
enum err_kind output_capture_create(struct loop *loop, size_t max,
                                    const struct output_capture_events *events, void *arg,
                                    struct output_capture **out, struct err *err) MUST_CHECK;

/* Gives the program's end of the pipe away, once: the caller closes it or hands it over. */
int output_capture_take_writer(struct output_capture *t) MUST_CHECK;

/* From now on output is read as it comes, in the loop. */
void output_capture_watch(struct output_capture *t);

/* Reads the output that is there now, of a flood only a part. True if every writer has closed the
 * pipe: nothing more will come, and no on_eof either. */
bool output_capture_drain(struct output_capture *t);

/* Whether more came than `max`. */
bool output_capture_is_full(const struct output_capture *t);

/* The bytes that have come so far; borrowed until the next call. */
struct str output_capture_bytes(const struct output_capture *t);

/* The end for the user: *t is NULL. NULL is fine. */
void output_capture_dispose(struct output_capture **t);

#endif
