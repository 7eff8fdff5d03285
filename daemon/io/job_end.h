/* SPDX-License-Identifier: Apache-2.0 */
/*
 * job_end - says in words how the last program of a run ended; pure. Used by job alone.
 */
#ifndef IO_JOB_END_H
#define IO_JOB_END_H

#include "base/run_end.h"
#include "io/runner.h"

/* Bytes of the text, with the NUL. */
enum { JOB_END_TEXT = 400 };

/* Writes the text. file is the path of the output file of the run; NULL = none. */
void job_end_put(char text[JOB_END_TEXT], const struct run_end *end, const struct runner_hook *hook,
                 const char *file);

#endif
