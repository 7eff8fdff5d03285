/* SPDX-License-Identifier: Apache-2.0 */
/*
 * printed - what a run prints to stdout and stderr, as lines of the log; driver. Used by job alone.
 */
#ifndef IO_PRINTED_H
#define IO_PRINTED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "io/capture.h"

enum printed_stream { PRINTED_STDOUT, PRINTED_STDERR };
enum { PRINTED_STREAMS = PRINTED_STDERR + 1 };

struct printed;

/* What each line is tagged with, and who hears of the end. Borrowed until printed_fini(). */
struct printed_run {
    const char *hook;
    const char *key;
    uint64_t id;
    uint64_t limit; /* bytes of each stream that reach the log */
    /* A stream is over: from the loop alone. */
    void (*on_eof)(void *arg);
    void *arg;
};

struct printed_one {
    const struct printed *of;
    struct capture *capture; /* NULL: not begun, or over */
    struct buf tail;         /* the last of it, once it is over */
    uint64_t dropped;
};

/* Embedded in its job. Zero-initialise but for run. */
struct printed {
    struct printed_run run;
    struct printed_one streams[PRINTED_STREAMS];
};

/* Begins a stream; *fd is the program's end, the caller's to close or hand over. ERR_IO: no
 * descriptors left. */
enum err_kind printed_open(struct printed *p, struct loop *loop, enum printed_stream which, int *fd,
                           struct err *err) MUST_CHECK;

/* From now on lines are logged as they come. */
void printed_watch(const struct printed *p);

/* Logs what there is now of a stream. The last of it; borrowed until the next call. */
struct str printed_drain(struct printed *p, enum printed_stream which);

/* Are both over, or not begun? */
bool printed_is_over(const struct printed *p);

/* Bytes over the limit so far. */
uint64_t printed_dropped(const struct printed *p);

/* What comes from now on is lost: says what was dropped over the limit. */
void printed_give_up(struct printed *p);

/* printed_give_up(), and frees all. */
void printed_fini(struct printed *p);

#endif
