/* SPDX-License-Identifier: Apache-2.0 */
/*
 * job_end - makes the result of a run, and its text, from what the helper says about the end of its
 * last program; pure. Used by job alone.
 */
#ifndef IO_JOB_END_H
#define IO_JOB_END_H

#include <stdbool.h>

#include "hook/run.h"
#include "io/helper_link.h"
#include "io/runner.h"

/* Bytes of a result's text, with the NUL. */
enum { JOB_END_TEXT = 400 };

/* Why main had a program killed. */
enum job_cut {
    JOB_CUT_NONE,    /* main did not, or informerd is stopping */
    JOB_CUT_TIMEOUT, /* the timeout had passed */
    JOB_CUT_FULL,    /* it printed more than an output file may have */
};

/* The end of a program. All members are borrowed. */
struct job_end {
    enum wire_program program;
    const struct runner_hook *hook;
    const char *file; /* path of the output file of the run; NULL = none */
    enum job_cut cut;
    const struct helper_link_exit *exit;
};

/* Whether the command succeeded, so that its stdout is to become the file. */
bool job_end_is_good(const struct job_end *end);

/* Fills end, status, shortage, file and text of the result. text is the buffer for the text, of
 * JOB_END_TEXT bytes, which the result borrows. Times, output and digest are left to the caller. */
void job_end_judge(const struct job_end *end, char *text, struct run_result *result);

#endif
