/* SPDX-License-Identifier: Apache-2.0 */
/*
 * child - starts one program in a process of its own: with its group, signals, descriptors, user,
 * and exec; driver. The process dies with the one that started it. A step that fails after the fork
 * comes back through a pipe that exec closes. Instead of a program the process can run a function
 * of the helper.
 */
#ifndef HELPER_CHILD_H
#define HELPER_CHILD_H

#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "base/compiler.h"
#include "base/wire.h"
#include "helper/helper.h"

/* How the process ended, as it reports through its pipe. */
struct child_report {
    enum wire_how how; /* a program that was entered never reports; before that: NOT_STARTED */
    int value;         /* exit code, signal or errno */
    char stage[WIRE_STAGE_SIZE]; /* the step that failed, or a stage of base/wire.h */
};

struct child_spec {
    const struct helper_hook *hook;
    const char *const *argv; /* the program, which runs as the hook's user; NULL = work */
    /* Runs instead of a program, as the helper's user, with all signals blocked and descriptors 0,
     * 1 and 2 set up; fills the report. */
    void (*work)(const struct child_spec *spec, struct child_report *out);
    bool shares_group;      /* stays in the process group of its parent; else it leads its own */
    const char *const *env; /* the whole environment; ends with NULL */
    int fds[WIRE_RUN_FDS];  /* become 0, 1 and 2 in the child; each is > 2 here */
    rlim_t nofile_soft;     /* 0 leaves it */
};

struct child {
    pid_t pid;
    int status_fd; /* child_reported() reads it once the child has ended */
};

/* Forks. The caller has all signals blocked, and keeps the descriptors in spec, which it may close
 * afterwards. False: there is no child, and *why says which step failed. */
bool child_start(const struct child_spec *spec, struct child *out,
                 struct child_report *why) MUST_CHECK;

/* For a child that has ended, reaped or not. True, with its report in *out: its program was never
 * entered, or the child was work and came to its end. False: the exit status says how the program
 * ended. Closes status_fd; never blocks. */
bool child_reported(struct child *c, struct child_report *out) MUST_CHECK;

/* The report NOT_STARTED: the system refused the step `stage` with this errno. */
struct child_report child_refusal(const char *stage, int error) MUST_CHECK;

#endif
