/* SPDX-License-Identifier: Apache-2.0 */
/*
 * output_run - the programs OUTPUT and REMOVE, each in a process of its own: they make the path of
 * an output file out of the names of an object, and write or remove the file, which is the old or
 * the new one at any moment (docs/design.md "Output files"); driver.
 */
#ifndef HELPER_OUTPUT_RUN_H
#define HELPER_OUTPUT_RUN_H

#include "helper/child.h"

/* The `work` of a child_spec: writes the whole of stdin, a sealed memory file, to the hook's output
 * file. INFORMERD_NAMESPACE, INFORMERD_NAME and INFORMERD_CLUSTER of spec->env are the names in the
 * path. Signals are blocked. If a signal that ends a process has come before the rename, the old
 * file stays, the new one is removed, and the end is SIGNALED. Otherwise *out is a good end with
 * WRITTEN or SAME, the failure of the check, or REFUSED with the step that failed. */
void output_run_write(const struct child_spec *spec, struct run_end *out);

/* The same to remove the file, and the folders of the path that are empty then, except the fixed
 * one. *out: a good end with REMOVED or SAME, or REFUSED. */
void output_run_remove(const struct child_spec *spec, struct run_end *out);

#endif
