/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_output - the stdout and stderr of the programs of a run: lines for the log, and the content of
 * the output file; driver. If the run writes a file, the stdout of its command is captured. The
 * helper's program that then writes the file has the captured bytes as stdin and the log as stdout.
 * All programs share one stderr.
 */
#ifndef IO_RUN_OUTPUT_H
#define IO_RUN_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/digest.h"
#include "base/err.h"
#include "base/wire.h"
#include "hook/run.h"

struct loop;
struct run_output;

struct run_output_params {
    struct loop *loop;
    uint64_t log_limit; /* bytes of each stream that on_line gets; the rest is dropped */
    size_t capture_max; /* bytes; 0 = the stdout of the command goes to the log */
    /* A line for the log without its newline, borrowed; stream is "stdout" or "stderr". A line of
     * more than OUTPUT_LINE_BYTES comes in parts of that length. Functions below call on_line,
     * on_dropped and on_unwatched, too. */
    void (*on_line)(void *arg, const char *stream, struct str line);
    /* The stream has ended, and so many bytes of it were dropped over log_limit. */
    void (*on_dropped)(void *arg, const char *stream, uint64_t bytes);
    /* Once: a stream cannot be watched, because the system is short of something. */
    void (*on_unwatched)(void *arg, const char *why);
    /* Once: more than capture_max came, or there is no memory for it. All that was captured is dropped,
     * and so is the rest. From the loop or run_output_drain(). */
    void (*on_full)(void *arg);
    /* Every writer has closed the captured stdout. Like on_end from the loop alone; both may dispose
     * the object. */
    void (*on_captured)(void *arg);
    /* Every writer has closed a stream that goes to the log. */
    void (*on_end)(void *arg);
    void *arg;
};

/* Makes stdout and stderr of the first program: fds[1] and fds[2]. Nothing is read before
 * run_output_watch(), run_output_drain() or run_output_finish(). ERR_IO: no descriptors
 * are left; the caller closes those of fds that are not -1, and *out is NULL. */
enum err_kind run_output_create(const struct run_output_params *params, int fds[WIRE_RUN_FDS],
                                struct run_output **out, struct err *err) MUST_CHECK;

/* From now on output is read as it comes, in the loop; a program that prints much more than log_limit is
 * read slowly. For a run that ends at once this is not worth the system calls. If the system is short of
 * something, on_unwatched comes, and a stream that is not watched is read by run_output_drain() and
 * run_output_finish(); a later call tries again. */
void run_output_watch(struct run_output *o);

/* Reads the captured stdout as far as it is there now, at most 1 MiB. True if every writer has
 * closed that pipe, or nothing is captured: no on_captured comes then. */
bool run_output_drain(struct run_output *o);

/* Whether more came than capture_max, or than there was memory for. */
bool run_output_is_full(const struct run_output *o);

/* If it is full: why. */
enum run_cut run_output_cut(const struct run_output *o);

/* The capture ends: makes the descriptors of the program that writes the file, and the digest of its
 * bytes. Errors as above. */
enum err_kind run_output_hand_on(struct run_output *o, struct digest *digest, int fds[WIRE_RUN_FDS],
                                 struct err *err) MUST_CHECK;

/* No program follows. Logs the lines that are there now, and fills out, err and dropped of the
 * result, borrowed until the next call. */
void run_output_finish(struct run_output *o, struct run_result *result);

/* Whether no stream that goes to the log is open. */
bool run_output_is_over(const struct run_output *o);

/* Moves the captured bytes to *out, which is empty. */
void run_output_take(struct run_output *o, struct buf *out);

/* Closes all streams: output that still comes is lost. on_line gets a last line without newline. */
void run_output_give_up(struct run_output *o);

/* run_output_give_up(), and the end for the user: *o is NULL. NULL is fine. */
void run_output_dispose(struct run_output **o);

#endif
