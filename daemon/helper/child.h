/* SPDX-License-Identifier: Apache-2.0 */
/*
 * child - starts one program in a process of its own: group, signals, descriptors, user, exec. It
 * dies with who started it. What goes wrong after the fork comes back through a pipe that exec
 * closes. Instead of a program it can be work of the helper's own.
 */
#ifndef HELPER_CHILD_H
#define HELPER_CHILD_H

#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "base/compiler.h"
#include "base/wire.h"
#include "helper/helper.h"

/* What a process tells of its end through its pipe. */
struct child_report {
    enum wire_how how; /* of programs: NOT_STARTED */
    int value;         /* exit code, signal or errno */
    char stage[WIRE_STAGE_SIZE];
};

struct child_spec {
    const struct helper_hook *hook;
    const char *const *argv; /* the program, which runs as the hook's user; NULL = work */
    /* Runs as the helper's user, signals blocked, with 0, 1 and 2 set up, and fills the report. */
    void (*work)(const struct child_spec *spec, struct child_report *out);
    bool shares_group;      /* stays in the group of who starts it; else it leads its own */
    const char *const *env; /* all of it; ends with NULL */
    int fds[WIRE_RUN_FDS];  /* become 0, 1 and 2; each > 2 here */
    rlim_t nofile_soft;     /* 0 leaves it */
};

struct child {
    pid_t pid;
    int status_fd; /* to be read with child_failed() once the child has ended */
};

/* Forks; the caller has all signals blocked and keeps the descriptors in spec. False and *why when
 * there is no child. */
bool child_start(const struct child_spec *spec, struct child *out,
                 struct child_report *why) MUST_CHECK;

/* For a child that has ended, reaped or not: true and *out if its program was never entered, or its
 * work is done. Closes status_fd; never blocks. */
bool child_reported(struct child *c, struct child_report *out) MUST_CHECK;

/* A report of what the system refused; error is an errno. */
struct child_report child_refusal(const char *stage, int error) MUST_CHECK;

#endif
