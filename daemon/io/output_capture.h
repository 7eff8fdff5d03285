/* SPDX-License-Identifier: Apache-2.0 */
/*
 * output_capture - the stdout of a command, which becomes a file (docs/design.md "Output files"):
 * whole and bounded; driver.
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
    /* Once: more came than may be kept; what comes from here on is read and forgotten. */
    void (*on_full)(void *arg);
    /* Once, from the loop alone: every writer has closed it; dispose is allowed. */
    void (*on_eof)(void *arg);
};

/* Makes the pipe, which nobody looks at before output_capture_watch(). max: bytes that are kept. events must
 * outlive it. ERR_IO: no descriptors left. */
enum err_kind output_capture_create(struct loop *loop, size_t max,
                                    const struct output_capture_events *events, void *arg,
                                    struct output_capture **out, struct err *err) MUST_CHECK;

/* The program's end of the pipe, once: the caller's to close or hand over. */
int output_capture_take_writer(struct output_capture *t) MUST_CHECK;

/* From now on what comes is read as it comes, in the loop. */
void output_capture_watch(struct output_capture *t);

/* Reads what is there now, of a flood only some. True if every writer has closed it: nothing more
 * will come, on_eof neither. */
bool output_capture_drain(struct output_capture *t);

/* Did more come than may be kept? */
bool output_capture_is_full(const struct output_capture *t);

/* What has come; borrowed until the next call. */
struct str output_capture_bytes(const struct output_capture *t);

/* The end for the user: *t is NULL. NULL is fine. */
void output_capture_dispose(struct output_capture **t);

#endif
