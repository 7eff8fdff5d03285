/* SPDX-License-Identifier: Apache-2.0 */
/*
 * helper_rig - main with its link to a real helper and real programs, for tests: what they are told, and
 * what the system says about the helper.
 */
#ifndef UNIT_HELPER_RIG_H
#define UNIT_HELPER_RIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "helper/helper.h"
#include "io/helper_link.h"
#include "io/loop.h"

enum {
    HELPER_RIG_NOBODY = 65534,
    HELPER_RIG_FDS = 6 /* of an idle helper: 0-2, socket, signals, children */
};

/* SHELL and those below run the script that they are given. */
enum helper_rig_hook {
    HELPER_RIG_TRUE,
    HELPER_RIG_SHELL,
    HELPER_RIG_AS_NOBODY,
    HELPER_RIG_SHORT_GRACE
};

struct helper_rig {
    struct loop *loop;
    struct helper_link *link;
    pid_t helper;
    size_t exited, opened, lost; /* events so far */
    size_t started;              /* of those that exited, how many were programs before */
    struct helper_link_exit end; /* the last one */
    struct err err;              /* of on_lost */
    bool dispose;                /* from inside the next event */
    bool called;                 /* by a function of ours: no event may come now */
};

/* Runs the loop until the condition holds. */
#define HELPER_RIG_AWAIT(w, condition) \
    while (!(condition))               \
    loop_run((w)->loop)

/* Starts a helper of its own. An alarm ends a test that hangs. */
void helper_rig_open(struct helper_rig *w);

/* The same with hooks of one's own, which may run as often at a time as they like if their concurrency is
 * 0; the programs may use INFORMERD_SCRIPT. */
void helper_rig_open_with(struct helper_rig *w, const struct helper_hook *hooks, size_t count);

/* Ends it, if the test has not; fails if its exit code is not 0, or a handle leaked. */
void helper_rig_close(struct helper_rig *w);

/* Waits for its end: its exit code, or minus the signal. */
int helper_rig_wait(struct helper_rig *w);

/* Runs a script as run id with INFORMERD_RUN=run-<id>; takes in (its stdin), returns the reading end of
 * its output. */
int helper_rig_run_with(struct helper_rig *w, uint64_t id, enum helper_rig_hook hook, int in,
                        const char *script);

/* The same with nothing to read. */
int helper_rig_run(struct helper_rig *w, uint64_t id, enum helper_rig_hook hook,
                   const char *script);

/* Everything that comes until the end, or until the first newline; valid until the next call. */
const char *helper_rig_read(int fd, bool one_line);

/* The next line must be this one. */
void helper_rig_expect_line(int fd, const char *line);

/* Nothing more may come: whoever held the other end is gone. Closes fd. */
void helper_rig_expect_eof(int fd);

/* The descriptors that a process has open. */
size_t helper_rig_fds(pid_t pid);

/* The children of a process, zombies too. */
size_t helper_rig_children(pid_t pid);

/* Runs hook 0, which must be /bin/true or like it, until the helper has no child any more; then it must
 * have no descriptor open that is a run's. */
void helper_rig_expect_clean(struct helper_rig *w);

/* A child of the test that does nothing until it is killed. */
pid_t helper_rig_idle_child(void);

/* The private memory of a process in KiB. */
size_t helper_rig_memory(pid_t pid);

#endif
