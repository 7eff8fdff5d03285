/* SPDX-License-Identifier: Apache-2.0 */
/*
 * output_sweep - the work of the program SWEEP: removes files that an earlier process wrote for a
 * hook, unless somebody has changed them. Main names them by path, and what it knows comes from a
 * state that is its user's: so if that is not the helper's too, nothing is touched outside of the
 * folder that the hook's output has now.
 */
#ifndef HELPER_OUTPUT_SWEEP_H
#define HELPER_OUTPUT_SWEEP_H

#include "helper/child.h"

/* Does so for all of stdin, and answers on stdout. */
void output_sweep_work(const struct child_spec *spec, struct child_report *out);

#endif
