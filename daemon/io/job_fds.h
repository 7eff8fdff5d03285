/* SPDX-License-Identifier: Apache-2.0 */
/*
 * job_fds - the descriptors that the programs of a run get, and the output that comes out of them;
 * driver. Used by job alone. If the run writes a file, the stdout of its command is captured. The
 * helper's program that then writes the file has the captured bytes as stdin and the log as stdout.
 * All programs share one stderr.
 */
#ifndef IO_JOB_FDS_H
#define IO_JOB_FDS_H

#include "base/digest.h"
#include "base/wire.h"
#include "io/output_capture.h"
#include "io/output_log.h"

struct job_fds {
    struct loop *loop;
    struct output_log output_log;
    /* NULL: the run writes no file, or its captured bytes were handed on */
    struct output_capture *output_capture;
    int spare; /* stderr for the program that follows; -1 = no program follows */
};

/* Makes stdout and stderr of the first program, in fds[1] and fds[2]. takes: its stdout is
 * captured, with events; else it goes to the log. ERR_IO: no descriptors are left; the caller
 * closes those of fds that are not -1. */
enum err_kind job_fds_first(struct job_fds *f, bool takes,
                            const struct output_capture_events *events, void *arg,
                            int fds[WIRE_RUN_FDS], struct err *err) MUST_CHECK;

/* Makes the descriptors of the program that writes the file, and the digest of its bytes; the
 * capture ends. Errors as above. */
enum err_kind job_fds_second(struct job_fds *f, struct digest *digest, int fds[WIRE_RUN_FDS],
                             struct err *err) MUST_CHECK;

/* No program follows: the capture ends, and the spare stderr is closed. */
void job_fds_last(struct job_fds *f);

/* From now on output is read as it comes, in the loop. */
void job_fds_watch(const struct job_fds *f);

/* Closes those descriptors that are not -1. */
void job_fds_close(const int fds[WIRE_RUN_FDS]);

/* Frees all that f holds; output that was not read is lost. */
void job_fds_fini(struct job_fds *f);

#endif
