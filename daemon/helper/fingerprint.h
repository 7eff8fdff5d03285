/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fingerprint - the program FINGERPRINT, in a process of its own: makes one digest of the programs
 * and files of a hook, which main may have no right to read; driver. The digest shows at a start
 * whether the hook changed (docs/design.md "Renewal").
 */
#ifndef HELPER_FINGERPRINT_H
#define HELPER_FINGERPRINT_H

#include "helper/child.h"

/* The `work` of a child_spec. Reads the files of the hook (helper_hook.files), 64 MiB of each at
 * most, and follows links; writes a struct digest to stdout. Of a larger file the size counts, too.
 * A path that is no file, or that does not exist or cannot be opened, counts as "no file". *out:
 * a good end, or REFUSED with READ when the system failed (EIO, EMFILE) and another try may help.
 * Signals end the process. */
void fingerprint_work(const struct child_spec *spec, struct run_end *out);

#endif
