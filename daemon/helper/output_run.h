/* SPDX-License-Identifier: Apache-2.0 */
/*
 * output_run - the work of the programs OUTPUT and REMOVE, in a process of its own: from an
 * object's names and bytes to a file that is the old or the new one at any moment
 * (docs/design.md "Output files").
 */
#ifndef HELPER_OUTPUT_RUN_H
#define HELPER_OUTPUT_RUN_H

#include "helper/child.h"

/* Makes the hook's file hold what stdin, a regular file, has from its start. The names in the path
 * are INFORMERD_NAMESPACE, INFORMERD_NAME and INFORMERD_CLUSTER in the environment. Signals are
 * blocked: when one that ends has come it leaves the old file, and no trace. */
void output_run_write(const struct child_spec *spec, struct child_report *out);

/* Removes it, and the folders that were made for it if they are empty. */
void output_run_remove(const struct child_spec *spec, struct child_report *out);

#endif
