/* SPDX-License-Identifier: Apache-2.0 */
/*
 * job_fds - the descriptors that the programs of a run get, and what comes out of them; driver.
 * Used by job alone. The first program's stdout is taken if the run writes a file; then the helper,
 * who writes it, has what it took as stdin, and the log as stdout. stderr is one for all of them.
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
    struct output_capture *output_capture; /* NULL: the run writes no file, or it is taken */
    int spare; /* stderr for the program that follows; -1 = none follows */
};

/* Makes those of the first program; input is what it gets on stdin. takes: its stdout is taken.
 * ERR_IO: none left; the caller closes those that are not -1. */
enum err_kind job_fds_first(struct job_fds *f, bool takes,
                            const struct output_capture_events *events, void *arg,
                            int fds[WIRE_RUN_FDS], struct err *err) MUST_CHECK;

/* Makes those of the program that writes the file, and the digest of its bytes; nothing is taken
 * any more. Errors as above. */
enum err_kind job_fds_second(struct job_fds *f, struct digest *digest, int fds[WIRE_RUN_FDS],
                             struct err *err) MUST_CHECK;

/* No program follows: nothing more is taken. */
void job_fds_last(struct job_fds *f);

/* From now on what comes is read as it comes. */
void job_fds_watch(const struct job_fds *f);

/* Closes those that are not -1. */
void job_fds_close(const int fds[WIRE_RUN_FDS]);

/* Frees all. */
void job_fds_fini(struct job_fds *f);

#endif
