/* SPDX-License-Identifier: Apache-2.0 */
/*
 * orphans - processes of runs whose parent has ended, which makes them the helper's children (it is
 * their subreaper): whose they are is read once, from INFORMERD_RUN in their environment; driver.
 * That finds what setsid(), double forks and new groups hide. What it cannot find is a process that
 * has a new environment and lost its parent too; a cgroup would, but needs one that is delegated.
 */
#ifndef HELPER_ORPHANS_H
#define HELPER_ORPHANS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "helper/descent.h"

struct orphans {
    struct orphan *all; /* by number, each alive or not reaped yet */
    size_t count;
    size_t capacity;
    size_t unread; /* those whose environment could not be read yet */
    struct descent descent;
    struct descent_pids children; /* as orphans_update() saw them */
};

/* Tells the programs that the helper started from orphans. */
typedef bool orphans_is_program_cb(const void *arg, pid_t pid);

/* Makes it empty; self, which has one thread, is whose children they will be. proc is where procfs
 * is mounted. */
void orphans_init(struct orphans *o, const char *proc, pid_t self);

/* Forgets all. */
void orphans_fini(struct orphans *o);

/* Looks for new ones; programs is how many children of the helper is_program is true for. One read
 * of a short file unless something is new. False if it is not known yet whose some are: they are
 * dead already, begin or end, and may have children of their own. */
bool orphans_update(struct orphans *o, size_t programs, orphans_is_program_cb *is_program,
                    const void *arg);

/* A child that was no program was reaped. */
void orphans_forget(struct orphans *o, pid_t pid);

/* Adds to set the living ones of a run: those with its name, and those in its group (0 = none is
 * asked for). A run without name (NULL) has only the latter. Returns how many more of them are dead
 * and wait to be reaped: their children may have become orphans after the update. */
size_t orphans_collect(const struct orphans *o, const char *run, pid_t group,
                       struct descent_set *set);

#endif
