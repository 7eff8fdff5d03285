/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pipe_in - main's end of a pipe that a program writes to; driver. Used by line_reader and
 * output_capture.
 */
#ifndef IO_PIPE_IN_H
#define IO_PIPE_IN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct loop;
struct pipe_in;

/* All are called from the loop or from pipe_in_drain(). */
struct pipe_in_events {
    /* Bytes from the pipe; borrowed until return. */
    void (*on_data)(void *arg, const char *data, size_t n);
    /* Once, from the loop alone: every writer has closed the pipe; dispose is allowed. */
    void (*on_eof)(void *arg);
};

/* Makes the pipe, which nobody reads before pipe_in_watch() or pipe_in_drain(). events must outlive
 * it. ERR_IO: no descriptors are left. */
enum err_kind pipe_in_create(struct loop *loop, const struct pipe_in_events *events, void *arg,
                             struct pipe_in **out, struct err *err) MUST_CHECK;

/* Gives the program's end of the pipe away, once: the caller closes it or hands it over. */
int pipe_in_take_writer(struct pipe_in *p) MUST_CHECK;

/* From now on the pipe is read as data comes, in the loop. For a run that ends at once this is not
 * worth the system calls. */
void pipe_in_watch(struct pipe_in *p);

/* Reads what the pipe holds now, of a flood only a part. True if every writer has closed the pipe:
 * nothing more will come, and no on_eof either. on_eof does not run inside. */
bool pipe_in_drain(struct pipe_in *p);

/* The end for the user: *p is NULL, both ends that are still here are closed. NULL is fine. */
void pipe_in_dispose(struct pipe_in **p);

#endif
