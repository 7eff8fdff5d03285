/* SPDX-License-Identifier: Apache-2.0 */
/*
 * output_check - runs a hook's check for a new output file and waits for its end; driver.
 */
#ifndef HELPER_OUTPUT_CHECK_H
#define HELPER_OUTPUT_CHECK_H

#include <stdbool.h>

#include "base/compiler.h"
#include "helper/child.h"

/* Replaces ${file} in the arguments by file, and runs it as the hook's user in this process' group,
 * with its stdout and stderr, the environment of spec, and nothing to read. Blocks. True if it
 * exits with 0; else *out is what to report. */
bool output_check_run(const struct child_spec *spec, const char *file,
                      struct child_report *out) MUST_CHECK;

#endif
