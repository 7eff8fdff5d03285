/* SPDX-License-Identifier: Apache-2.0 */
/*
 * taken - what a command writes to stdout to become a file (DESIGN 1.5), whole and bounded; driver.
 */
#ifndef IO_TAKEN_H
#define IO_TAKEN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/str.h"

struct loop;
struct taken;

/* All are called from the loop or from taken_drain(). */
struct taken_events {
    /* Once: more came than may be kept; what comes from here on is read and forgotten. */
    void (*on_full)(void *arg);
    /* Once, from the loop alone: every writer has closed it; dispose is allowed. */
    void (*on_eof)(void *arg);
};

/* Makes the pipe, which nobody looks at before taken_watch(). max: bytes that are kept. events must
 * outlive it. ERR_IO: no descriptors left. */
enum err_kind taken_create(struct loop *loop, size_t max, const struct taken_events *events,
                           void *arg, struct taken **out, struct err *err) MUST_CHECK;

/* The program's end of the pipe, once: the caller's to close or hand over. */
int taken_take_writer(struct taken *t) MUST_CHECK;

/* From now on what comes is read as it comes, in the loop. */
void taken_watch(struct taken *t);

/* Reads what is there now, of a flood only some. True if every writer has closed it: nothing more
 * will come, on_eof neither. */
bool taken_drain(struct taken *t);

/* Did more come than may be kept? */
bool taken_is_full(const struct taken *t);

/* What has come; borrowed until the next call. */
struct str taken_bytes(const struct taken *t);

/* The end for the user: *t is NULL. NULL is fine. */
void taken_dispose(struct taken **t);

#endif
