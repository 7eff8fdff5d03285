/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shortage - recognises that a run could not be started because the system is short of something,
 * which says nothing about its hook
 * (docs/decisions.md "A shortage of the system is no failure of the hook"); pure.
 */
#ifndef HOOK_SHORTAGE_H
#define HOOK_SHORTAGE_H

#include "base/run_end.h"

/* The resource that the system is short of. */
enum shortage {
    SHORTAGE_NONE, /* the start failed for another reason */
    SHORTAGE_DESCRIPTORS,
    SHORTAGE_PROCESSES,
    SHORTAGE_MEMORY,
    SHORTAGE_KINDS
};

/* The resource whose lack kept all programs of the run from being started. A program that does not
 * exist, may not be executed or is no program, and a user that may not be taken, are no shortage,
 * whatever the errno would mean elsewhere. A failed step outside of a start, such as writing an output
 * file to a full disk, is no shortage either. Once the command has run there was a run, even if its file
 * could not be written then. */
enum shortage shortage_of(const struct run_end *end);

/* "descriptors", "processes", "memory". Not for SHORTAGE_NONE. */
const char *shortage_name(enum shortage shortage);

/* The remedy, for log lines. Not for SHORTAGE_NONE. */
const char *shortage_advice(enum shortage shortage);

#endif
