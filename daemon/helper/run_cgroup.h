/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_cgroup - the cgroup of a run: all programs of the run start in it, nothing that descends from them
 * gets out of it without the rights of the helper, and one write kills all of it; driver
 * (docs/decisions.md "Each run has a cgroup of its own").
 */
#ifndef HELPER_RUN_CGROUP_H
#define HELPER_RUN_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/compiler.h"
#include "base/run_end.h"
#include "helper/cgroup_tree.h"

/* The limits of a run, as the files of its cgroup have them. 0 = no limit, or the kernel's weight. */
struct run_limits {
    uint64_t memory_max; /* bytes */
    uint64_t pids_max;
    uint64_t cpu_max;    /* percent of one CPU */
    uint64_t cpu_weight; /* 1 to 10000 */
};

/* A cgroup that could not be removed, because it has processes. */
struct run_cgroup_kept {
    char *name;
    int watch; /* of inotify, on its cgroup.events; -1 = none */
};

/* All cgroups of runs. */
struct run_cgroups {
    const struct cgroup_tree *tree; /* NULL = none: then no run has a cgroup */
    int fd;                         /* of the folder of the tree */
    struct run_cgroup_kept *kept;
    size_t kept_count;
    int watch_fd;  /* of inotify: readable when a kept one has lost its last process; -1 = none */
    unsigned told; /* bits of limits that have no effect here, which the log has said */
};

/* The cgroup of one run while a program of it runs, or while its processes are being killed. */
struct run_cgroup {
    char *name;
    int fd;                 /* of its folder; -1 = the run has no cgroup */
    uint64_t cpu_before_us; /* the time that it had used before this program */
    uint64_t ooms_before;   /* the same of processes that were killed for lack of memory */
    uint64_t pids_before;   /* and of forks that pids_max has refused */
};

/* A run without a cgroup. */
#define RUN_CGROUP_NONE ((struct run_cgroup){.fd = -1})

/* Begins to use the tree, which is borrowed; fd is its descriptor in this process, owned from now on.
 * Ends what an earlier informerd has left: kills the processes of runs that were under way, waits for
 * their ends (a second at most), and removes the cgroups. Processes that good runs have left go on. */
void run_cgroups_open(struct run_cgroups *g, const struct cgroup_tree *tree, int fd);

/* Removes the cgroups that are empty, or are about to be (a second at most), and the tree, if informerd has
 * made it. */
void run_cgroups_close(struct run_cgroups *g);

/* Removes the cgroups whose last processes have ended by now. To be called when watch_fd is readable;
 * run_cgroup_make() does it too, as the system may have refused inotify. */
void run_cgroups_tidy(struct run_cgroups *g);

/* Makes the cgroup of a run, which INFORMERD_RUN names, or takes the one that an earlier program of
 * the run has left, and sets its limits; hook is for the log. Returns 0 or an errno. Without a tree, or
 * with run NULL, *out is RUN_CGROUP_NONE. */
int run_cgroup_make(struct run_cgroups *g, const char *run, const char *hook,
                    const struct run_limits *limits, struct run_cgroup *out) MUST_CHECK;

/* Takes the cgroup that the run has left. False: there is none. */
bool run_cgroup_find(struct run_cgroups *g, const char *run, struct run_cgroup *out) MUST_CHECK;

/* Kills all processes in it, those too that are being forked. */
void run_cgroup_kill(const struct run_cgroup *c);

/* Has it a process that has not ended? Zombies do not count. */
bool run_cgroup_is_populated(const struct run_cgroup *c) MUST_CHECK;

/* Notes in end the processes that are in it: their number, and one of them by name. */
void run_cgroup_tell_left(const struct run_cgroup *c, struct run_end *end);

/* Notes in end what the program and its descendants have used, and which limit they have met. */
void run_cgroup_tell_usage(const struct run_cgroup *c, struct run_end *end);

/* The run is over, or this program of it: the cgroup is removed, unless it has processes. is_spared: they
 * may stay, at a later start too; else a later start kills them. Frees c. */
void run_cgroup_leave(struct run_cgroups *g, struct run_cgroup *c, bool is_spared);

#endif
