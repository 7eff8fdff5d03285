/* SPDX-License-Identifier: Apache-2.0 */
/*
 * output_sweep - the program SWEEP: removes stray files (docs/design.md "Stray files"), unless
 * somebody has changed them; driver. main names them by path, and knows them from the state, which
 * belongs to the user of main. If main has fewer rights than the helper, no file outside of the
 * folder that the hook's output has now is touched
 * (docs/decisions.md "The helper does not trust the state where it removes files").
 */
#ifndef HELPER_OUTPUT_SWEEP_H
#define HELPER_OUTPUT_SWEEP_H

#include "helper/child.h"

/* The `work` of a child_spec: reads stray files from stdin, removes them, and answers on stdout, in
 * the format of RUN_PROGRAM_SWEEP in base/run_end.h; WIRE_SWEEP_MAX files at most. *out: a
 * good end, or REFUSED with SWEEP if stdin or stdout fails. */
void output_sweep_work(const struct child_spec *spec, struct run_end *out);

#endif
