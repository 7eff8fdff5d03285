/* SPDX-License-Identifier: Apache-2.0 */
/*
 * output_check - runs a hook's check for a new output file and waits for its end; driver.
 */
#ifndef HELPER_OUTPUT_CHECK_H
#define HELPER_OUTPUT_CHECK_H

#include <stdbool.h>

#include "base/compiler.h"
#include "helper/child.h"

/* Runs the hook's check (helper_hook.check), with ${file} in its arguments replaced by file. The
 * check runs as the hook's user, in the process group of the caller so that a kill of the run kills
 * it too, with the caller's stdout and stderr, the environment of spec, and /dev/null as stdin.
 * Blocks until the check ends. True: it has exited with 0. False: *out is the failure,
 * of program CHECK. */
bool output_check_run(const struct child_spec *spec, const char *file,
                      struct run_end *out) MUST_CHECK;

#endif
