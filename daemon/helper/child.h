/* SPDX-License-Identifier: Apache-2.0 */
/*
 * child - starts one program in a process of its own: group, signals, descriptors, user, exec. It
 * dies with the helper. What goes wrong after the fork comes back through a pipe that exec closes.
 */
#ifndef HELPER_CHILD_H
#define HELPER_CHILD_H

#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "base/compiler.h"
#include "base/wire.h"
#include "helper/helper.h"

struct child_spec {
    const struct helper_hook *hook;
    const char *const *env; /* all of it; ends with NULL */
    int fds[WIRE_RUN_FDS];  /* become 0, 1 and 2; each > 2 here */
    rlim_t nofile_soft;     /* 0 leaves it */
};

struct child {
    pid_t pid;
    int status_fd; /* to be read with child_failed() once the child has ended */
};

/* Why a program did not start. */
struct child_failure {
    char stage[WIRE_STAGE_SIZE];
    int error; /* errno */
};

/* Forks; the caller has all signals blocked and keeps the descriptors in spec. False and *why when
 * there is no child. */
bool child_start(const struct child_spec *spec, struct child *out,
                 struct child_failure *why) MUST_CHECK;

/* For a child that has ended, reaped or not: true and *why if the program was never entered.
 * Closes status_fd; never blocks. */
bool child_failed(struct child *c, struct child_failure *why) MUST_CHECK;

#endif
