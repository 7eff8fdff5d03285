/* SPDX-License-Identifier: Apache-2.0 */
/*
 * output_log - logs the stdout and stderr of a run line by line; driver. Used by job alone.
 */
#ifndef IO_OUTPUT_LOG_H
#define IO_OUTPUT_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "io/line_reader.h"

/* The two streams of a run. */
enum output_log_stream { OUTPUT_LOG_STDOUT, OUTPUT_LOG_STDERR };
enum { OUTPUT_LOG_STREAMS = OUTPUT_LOG_STDERR + 1 };

struct output_log;

/* The run whose output is logged: what each line is tagged with, and the callback for the end.
 * Borrowed until output_log_fini(). */
struct output_log_run {
    const char *hook;
    const char *key;
    uint64_t id;
    uint64_t limit; /* bytes of each stream that reach the log */
    /* A stream has ended: every writer has closed it. From the loop alone. */
    void (*on_eof)(void *arg);
    void *arg;
};

/* One stream of the run. */
struct output_log_one {
    const struct output_log *of;
    struct line_reader *line_reader; /* NULL: the stream has not begun, or is over */
    struct buf tail;                 /* the end of the output, once the stream is over */
    uint64_t dropped;                /* bytes over the limit, once the stream is over */
};

/* Embedded in its job. To be zero-initialised except for run. */
struct output_log {
    struct output_log_run run;
    struct output_log_one streams[OUTPUT_LOG_STREAMS];
};

/* Begins a stream; *fd is the program's end of its pipe, which the caller closes or hands over.
 * ERR_IO: no descriptors are left. */
enum err_kind output_log_open(struct output_log *p, struct loop *loop, enum output_log_stream which,
                              int *fd, struct err *err) MUST_CHECK;

/* From now on lines are logged as they come. */
void output_log_watch(const struct output_log *p);

/* Logs the lines of a stream that are there now. Returns the end of its output, borrowed until the
 * next call. */
struct str output_log_drain(struct output_log *p, enum output_log_stream which);

/* Whether no stream is open: each is over or has not begun. */
bool output_log_is_over(const struct output_log *p);

/* Bytes of both streams over the limit so far. */
uint64_t output_log_dropped(const struct output_log *p);

/* Closes both streams: output that still comes is lost. Logs how much was dropped over the
 * limit. */
void output_log_give_up(struct output_log *p);

/* output_log_give_up(), and frees all. */
void output_log_fini(struct output_log *p);

#endif
