/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cgroup_tree - the cgroup below which each run has a cgroup of its own (helper/run_cgroup); driver.
 * It is the cgroup that systemd has delegated to the service (Delegate=yes). Where no systemd manages
 * the cgroups, as in most containers, informerd makes one below its own.
 */
#ifndef HELPER_CGROUP_TREE_H
#define HELPER_CGROUP_TREE_H

#include <stdbool.h>

#include "base/compiler.h"
#include "base/err.h"

/* The names of the cgroups: a tree that informerd has made is TREE and its process id, the one that
 * main and the helper move to is DAEMON, and that of a run is RUN and its INFORMERD_RUN. */
#define CGROUP_TREE_PREFIX "informerd-"
#define CGROUP_TREE_DAEMON "daemon"
#define CGROUP_TREE_RUN    "run-"

struct cgroup_tree {
    char *path; /* of the folder; NULL = there is no tree, and the rest does not count */
    /* The folder. One that informerd has made is locked (flock) for as long as the helper lives: so a
     * later start knows the trees that a crash has left. > 2, close-on-exec. */
    int fd;
    bool is_ours; /* informerd has made the tree, so the helper removes it at its end */
};

/* Finds or makes the tree, and moves this process into its DAEMON cgroup, as only cgroups without
 * processes may give controllers to others (cgroups(7), "no internal processes"). To be called before
 * the fork of the helper, by a process with one thread. ERR_IO: there is none, and the text says why;
 * then out->path is NULL, and nothing has changed. */
enum err_kind cgroup_tree_prepare(struct cgroup_tree *out, struct err *err) MUST_CHECK;

/* Opens and locks the folder of a tree. Returns a descriptor or -1 with errno set; EWOULDBLOCK: another
 * informerd has it. */
int cgroup_tree_open(int parent, const char *path) MUST_CHECK;

/* Gives the cgroups below the tree their controllers, as far as the tree has them. Without one, the limits
 * that need it have no effect (helper/run_cgroup). */
void cgroup_tree_enable(int tree);

/* Closes the descriptor and frees the path; the cgroups stay. */
void cgroup_tree_close(struct cgroup_tree *t);

/* The path of a process' cgroup from the text of /proc/PID/cgroup: the bytes between "0::" and the end
 * of that line. Pure. NULL: the process is in no cgroup of version 2. The caller frees it. */
char *cgroup_tree_parse(const char *text) MUST_CHECK;

#endif
