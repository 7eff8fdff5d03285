/* SPDX-License-Identifier: Apache-2.0 */
/*
 * child - starts one program in a process of its own: with its group, signals, descriptors, user,
 * and exec; driver. The process dies with the one that started it. A step that fails after the fork
 * comes back through a pipe that exec closes. Instead of a program the process can run a function
 * of the helper.
 */
#ifndef HELPER_CHILD_H
#define HELPER_CHILD_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "base/compiler.h"
#include "base/wire.h"
#include "helper/helper.h"
#include "helper/run_cgroup.h"

struct child_spec {
    const struct helper_hook *hook;
    enum run_program program; /* the kind of program that argv or work is */
    const char *const *argv;  /* the program, which runs as the hook's user; NULL = work */
    /* Runs instead of a program, as the helper's user, with all signals blocked and descriptors 0,
     * 1 and 2 set up. *out is a good end at first: it changes kind, stage and value. */
    void (*work)(const struct child_spec *spec, struct run_end *out);
    const void *work_arg;            /* an argument of work */
    uint64_t work_needs;             /* capabilities that work needs besides those of the helper */
    const struct run_cgroup *cgroup; /* the child starts in it; NULL = in that of its parent */
    bool shares_group;      /* stays in the process group of its parent; else it leads its own */
    const char *const *env; /* the whole environment; ends with NULL */
    int fds[WIRE_RUN_FDS];  /* become 0, 1 and 2 in the child; each is > 2 here */
    rlim_t nofile_soft;     /* soft limit of open files; 0 leaves it as it is */
};

struct child {
    pid_t pid;
    int status_fd; /* child_end() reads it once the child has ended */
    enum run_program program;
};

/* Forks. The caller has all signals blocked, and keeps the descriptors in spec, which it may close
 * afterwards. False: there is no child, and *why says which step failed. */
bool child_start(const struct child_spec *spec, struct child *out, struct run_end *why) MUST_CHECK;

/* How a child ended, reaped or not; info is of waitid(). A report of the child counts more than its
 * exit status: then its program was never entered, or it was work and came to its end. Closes
 * status_fd; never blocks. */
struct run_end child_end(struct child *c, const siginfo_t *info) MUST_CHECK;

#endif
