/* SPDX-License-Identifier: Apache-2.0 */
/*
 * descent - finds the children and descendants of processes in /proc: in the lists of children that
 * the kernel keeps, or, where the kernel has none (without CONFIG_PROC_CHILDREN), by a look at all
 * processes; driver. docs/decisions.md "Escaped processes are found by descent and INFORMERD_RUN".
 */
#ifndef HELPER_DESCENT_H
#define HELPER_DESCENT_H

#include <stddef.h>
#include <sys/types.h>

#include "base/buf.h"
#include "helper/process.h"

/* The most processes of a set: a run that forks without end must not cost memory without end. */
enum { DESCENT_SET_MAX = 4096 };

struct descent {
    const char *proc; /* where procfs is mounted */
    pid_t self;
    int list_fd;       /* the list of children of self; -1 = this kernel has no such lists */
    struct buf listed; /* the text that was read from list_fd */
};

/* A set of processes; zero-initialised is empty. */
struct descent_set {
    struct process *all;
    size_t count;
    size_t capacity;
};

/* The numbers of processes; zero-initialised is empty. */
struct descent_pids {
    pid_t *all;
    size_t count;
    size_t capacity;
};

/* Opens the list of children of self, and keeps it open. self has one thread, so there is one list.
 * proc is borrowed. */
void descent_open(struct descent *d, const char *proc, pid_t self);

/* Closes the list of children, and frees its text. */
void descent_close(struct descent *d);

/* Replaces out by the children of self, with those that are dead and not reaped. The answer is
 * complete: a child keeps its number, and its place in the list, until self reaps it. */
void descent_children(struct descent *d, struct descent_pids *out);

/* Adds a process, unless the set has it already or has DESCENT_SET_MAX members. */
void descent_add(struct descent_set *set, const struct process *p);

/* Adds the living descendants of all members. Each process that is added was a child of a member
 * when it was looked at. Processes that are forked during the call may be missing. */
void descent_extend(const struct descent *d, struct descent_set *set);

/* Frees the memory; the set is empty and usable again. */
void descent_set_free(struct descent_set *set);

/* Frees the memory; the list is empty and usable again. */
void descent_pids_free(struct descent_pids *pids);

#endif
