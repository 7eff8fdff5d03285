/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sandbox - before main reads a byte of the network, it gives up most files (Landlock, app/sandbox_files) and
 * most system calls (seccomp, app/sandbox_calls). The helper never calls this. A part that the kernel does not
 * offer is logged once, and main goes on without it (docs/decisions.md "main gives up rights that it does not need").
 */
#ifndef APP_SANDBOX_H
#define APP_SANDBOX_H

#include <stdbool.h>
#include <stddef.h>

/* Main may read what lookups of names and informerctl doctor need: readable[] of sandbox_files.c. These
 * come on top. All are borrowed for the call. */
struct sandbox_files {
    const char *state_dir;       /* its files may be written; NULL = there is none */
    const char *socket;          /* may be removed at the end; NULL = there is none */
    const char *const *programs; /* files in their folders may be read */
    size_t program_count;
};

/* For the calling thread, and those that it starts later: so it comes before there are threads. Also sets
 * no_new_privs, without which an ordinary user may not do this. */
void sandbox_limit_files(const struct sandbox_files *files);

/* For all threads. Loads the modules of the name service first, as no code can be loaded later. Comes when all
 * privileges are dropped: changing the user is one of the calls that are given up. */
void sandbox_limit_calls(void);

/* Logs each system call that was refused since the last time, and once in all. Such a call is either an attack,
 * or a library that needs more than this list has. */
void sandbox_tell(void);

/* The name of the refused call with this index, for people; NULL = there are no more. The caller frees it. */
char *sandbox_refused(size_t index);

#endif
