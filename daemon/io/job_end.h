/* SPDX-License-Identifier: Apache-2.0 */
/*
 * job_end - how a run ended, in words and as a result, from what the helper says of its last
 * program; pure. Used by job alone.
 */
#ifndef IO_JOB_END_H
#define IO_JOB_END_H

#include <stdbool.h>

#include "hook/run.h"
#include "io/helper_link.h"
#include "io/runner.h"

enum { JOB_END_TEXT = 400 };

/* Why main had a program killed. */
enum job_cut {
    JOB_CUT_NONE, /* it did not, or informerd stops */
    JOB_CUT_TIMEOUT,
    JOB_CUT_FULL, /* it printed more than a file may have */
};

/* All borrowed. */
struct job_end {
    enum wire_program program;
    const struct runner_hook *hook;
    const char *file; /* path of the hook's output file; NULL = none */
    enum job_cut cut;
    const struct helper_link_exit *exit;
};

/* Is what the command printed to become the file? */
bool job_end_is_good(const struct job_end *end);

/* Fills end, status, means, file and text of the result; text is written to text, of JOB_END_TEXT
 * bytes. Times, output and digest are the caller's. */
void job_end_judge(const struct job_end *end, char *text, struct run_result *result);

#endif
