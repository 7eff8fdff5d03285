/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shortage - recognises that a run could not be started because the system is short of something,
 * which says nothing about its hook
 * (docs/decisions.md "A shortage of the system is no failure of the hook"); pure.
 */
#ifndef HOOK_SHORTAGE_H
#define HOOK_SHORTAGE_H

/* What the system is short of. */
enum shortage {
    SHORTAGE_NONE, /* the start failed for another reason */
    SHORTAGE_DESCRIPTORS,
    SHORTAGE_PROCESSES,
    SHORTAGE_MEMORY,
    SHORTAGE_KINDS
};

/* The name of the one step of a start that main does itself, besides "pipe"; the other steps are
 * the helper's (helper/child.c). */
#define SHORTAGE_MEMORY_FILE "memory file"

/* What the system was short of when this step of a start failed with this errno. A program that
 * does not exist, may not be executed or is no program, and a user that may not be taken, are no
 * shortage, whatever the errno would mean elsewhere. Nor is a step outside of a start, such as
 * writing an output file to a full disk. */
enum shortage shortage_lacking(const char *stage, int error);

/* "descriptors", "processes", "memory". Not for SHORTAGE_NONE. */
const char *shortage_name(enum shortage shortage);

/* What a person can do about it, for log lines. Not for SHORTAGE_NONE. */
const char *shortage_advice(enum shortage shortage);

#endif
