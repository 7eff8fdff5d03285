/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shortage - what a system lacks that could not start a run: such a run says nothing about its hook;
 * pure.
 */
#ifndef HOOK_SHORTAGE_H
#define HOOK_SHORTAGE_H

enum shortage {
    SHORTAGE_NONE, /* it is something else */
    SHORTAGE_DESCRIPTORS,
    SHORTAGE_PROCESSES,
    SHORTAGE_MEMORY,
    SHORTAGE_KINDS
};

/* The step of a start that is main's own, besides "pipe"; the others are the helper's (child.c). */
#define SHORTAGE_MEMORY_FILE "memory file"

/* What was short when this step of a start failed with this errno. A program that is not there, may
 * not be executed or is none, and a user that may not be taken, are no shortage, whatever the errno
 * would mean elsewhere; so is a step that is not of a start (of output files: a full disk). */
enum shortage shortage_lacking(const char *stage, int error);

/* "descriptors", "processes", "memory". Not for ENOUGH. */
const char *shortage_name(enum shortage shortage);

/* What a person can do about it, for log lines. Not for ENOUGH. */
const char *shortage_advice(enum shortage shortage);

#endif
