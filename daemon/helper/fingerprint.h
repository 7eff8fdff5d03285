/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fingerprint - the work of the program FINGERPRINT, in a process of its own: one digest of what
 * belongs to a hook on disk, its programs and files, which main may not be able to read.
 */
#ifndef HELPER_FINGERPRINT_H
#define HELPER_FINGERPRINT_H

#include "helper/child.h"

/* Reads the files of the hook, links followed, 64 MiB of each at most, and writes a struct digest to
 * stdout. Of a larger file its size counts, too. What is no file, or cannot be found or opened, counts
 * as that; it may be a FIFO. NOT_STARTED with stage "read": the system failed (EIO, EMFILE), and
 * trying again may help. Signals end it. */
void fingerprint_work(const struct child_spec *spec, struct child_report *out);

#endif
