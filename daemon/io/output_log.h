/* SPDX-License-Identifier: Apache-2.0 */
/*
 * output_log - what a run prints to stdout and stderr, as lines of the log; driver. Used by job alone.
 */
#ifndef IO_OUTPUT_LOG_H
#define IO_OUTPUT_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "io/line_reader.h"

enum output_log_stream { OUTPUT_LOG_STDOUT, OUTPUT_LOG_STDERR };
enum { OUTPUT_LOG_STREAMS = OUTPUT_LOG_STDERR + 1 };

struct output_log;

/* What each line is tagged with, and who hears of the end. Borrowed until output_log_fini(). */
struct output_log_run {
    const char *hook;
    const char *key;
    uint64_t id;
    uint64_t limit; /* bytes of each stream that reach the log */
    /* A stream is over: from the loop alone. */
    void (*on_eof)(void *arg);
    void *arg;
};

struct output_log_one {
    const struct output_log *of;
    struct line_reader *line_reader; /* NULL: not begun, or over */
    struct buf tail;                 /* the last of it, once it is over */
    uint64_t dropped;
};

/* Embedded in its job. Zero-initialise but for run. */
struct output_log {
    struct output_log_run run;
    struct output_log_one streams[OUTPUT_LOG_STREAMS];
};

/* Begins a stream; *fd is the program's end, the caller's to close or hand over. ERR_IO: no
 * descriptors left. */
enum err_kind output_log_open(struct output_log *p, struct loop *loop, enum output_log_stream which,
                              int *fd, struct err *err) MUST_CHECK;

/* From now on lines are logged as they come. */
void output_log_watch(const struct output_log *p);

/* Logs what there is now of a stream. The last of it; borrowed until the next call. */
struct str output_log_drain(struct output_log *p, enum output_log_stream which);

/* Are both over, or not begun? */
bool output_log_is_over(const struct output_log *p);

/* Bytes over the limit so far. */
uint64_t output_log_dropped(const struct output_log *p);

/* What comes from now on is lost: says what was dropped over the limit. */
void output_log_give_up(struct output_log *p);

/* output_log_give_up(), and frees all. */
void output_log_fini(struct output_log *p);

#endif
