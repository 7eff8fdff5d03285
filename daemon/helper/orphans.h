/* SPDX-License-Identifier: Apache-2.0 */
/*
 * orphans - the processes of runs whose parent has ended; driver. The helper is their subreaper, so
 * they become children of the helper. INFORMERD_RUN in the environment of such a process, read
 * once, names its run. So a process is found whatever setsid(), double forks and new groups hide,
 * unless it has a new environment and has lost its parent. A cgroup of each run would hold that
 * one, too, but that needs a delegated cgroup
 * (docs/decisions.md "Escaped processes are found by descent and INFORMERD_RUN").
 */
#ifndef HELPER_ORPHANS_H
#define HELPER_ORPHANS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "helper/descent.h"

struct orphans {
    struct orphan *all; /* sorted by number; each is alive or not reaped yet */
    size_t count;
    size_t capacity;
    size_t unread; /* orphans whose environment could not be read yet */
    struct descent descent;
    struct descent_pids children; /* as the last orphans_update() saw them */
};

/* Is this child of the helper a program that the helper started, and so no orphan? */
typedef bool orphans_is_program_cb(const void *arg, pid_t pid);

/* Begins without orphans. self is the helper, which has one thread: orphans become its children.
 * proc is where procfs is mounted, borrowed. */
void orphans_init(struct orphans *o, const char *proc, pid_t self);

/* Forgets all orphans and frees the memory. */
void orphans_fini(struct orphans *o);

/* Looks for new orphans; programs is the number of children of the helper for which is_program is
 * true. Costs one read of a short file unless there is a new child. False: the run of some orphans
 * is not known yet, because they are in an exec, end, or are dead already. Such an orphan may have
 * children. */
bool orphans_update(struct orphans *o, size_t programs, orphans_is_program_cb *is_program,
                    const void *arg);

/* The caller has reaped a child that was no program. Does nothing if the child is not known. */
void orphans_forget(struct orphans *o, pid_t pid);

/* Adds the living orphans of a run to set: those with its name in INFORMERD_RUN (run; NULL = the
 * run has no name), and those in its process group (group; 0 = the group does not count). Returns
 * how many further orphans of the run are dead and wait to be reaped: their children may have
 * become orphans after the update. */
size_t orphans_collect(const struct orphans *o, const char *run, pid_t group,
                       struct descent_set *set);

#endif
