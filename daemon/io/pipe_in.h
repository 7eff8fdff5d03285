/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pipe_in - main's end of a pipe that a program writes to; driver. Used by capture and taken.
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
    /* Bytes that were written; borrowed until return. */
    void (*on_data)(void *arg, const char *data, size_t n);
    /* Once, from the loop alone: every writer has closed it; dispose is allowed. */
    void (*on_eof)(void *arg);
};

/* Makes the pipe, which nobody looks at before pipe_in_watch(). events must outlive it. ERR_IO: no
 * descriptors left. */
enum err_kind pipe_in_create(struct loop *loop, const struct pipe_in_events *events, void *arg,
                             struct pipe_in **out, struct err *err) MUST_CHECK;

/* The program's end of the pipe, once: the caller's to close or hand over. */
int pipe_in_take_writer(struct pipe_in *p) MUST_CHECK;

/* From now on what comes is read as it comes, in the loop. A pipe of a run that ends at once is not
 * worth the system calls. */
void pipe_in_watch(struct pipe_in *p);

/* Reads what is there now, of a flood only some. True if every writer has closed it: nothing more
 * will come, on_eof neither. on_eof does not run inside. */
bool pipe_in_drain(struct pipe_in *p);

/* The end for the user: *p is NULL. NULL is fine. */
void pipe_in_dispose(struct pipe_in **p);

#endif
