/* SPDX-License-Identifier: Apache-2.0 */
/*
 * descent - who descends from whom, as /proc tells it: by the lists of children that the kernel
 * keeps, or, where it keeps none (CONFIG_PROC_CHILDREN), by looking at all processes; driver.
 */
#ifndef HELPER_DESCENT_H
#define HELPER_DESCENT_H

#include <stddef.h>
#include <sys/types.h>

#include "base/buf.h"
#include "helper/process.h"

enum { DESCENT_SET_MAX = 4096 };

struct descent {
    const char *proc; /* where procfs is mounted */
    pid_t self;
    int list_fd;       /* this process' list of children; -1 = none is kept */
    struct buf listed; /* what was read from there */
};

/* Processes, none twice; zero-initialised is empty. */
struct descent_set {
    struct process *all;
    size_t count;
    size_t capacity;
};

/* Numbers of processes; zero-initialised is empty. */
struct descent_pids {
    pid_t *all;
    size_t count;
    size_t capacity;
};

/* Opens self's list of children and keeps it. self has one thread. */
void descent_open(struct descent *d, const char *proc, pid_t self);

/* Closes the list. */
void descent_close(struct descent *d);

/* Fills out with the children of self, the dead ones too. Complete and safe to rely on: a child
 * keeps its number, and its place in the list, until self reaps it. */
void descent_children(struct descent *d, struct descent_pids *out);

/* Adds a process unless it is there, or there are DESCENT_SET_MAX. */
void descent_add(struct descent_set *set, const struct process *p);

/* Adds all descendants of the members that are alive, as far as they can be seen at this moment:
 * each was a child of a member when it was looked at. Those forked meanwhile may be missing. */
void descent_extend(const struct descent *d, struct descent_set *set);

/* Releases the memory; empty and usable again. */
void descent_set_free(struct descent_set *set);

/* Releases the memory; empty and usable again. */
void descent_pids_free(struct descent_pids *pids);

#endif
