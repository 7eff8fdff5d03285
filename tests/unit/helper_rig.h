/* SPDX-License-Identifier: Apache-2.0 */
/*
 * helper_rig - main with its link to a real helper and real programs, for tests: the events of the link,
 * and the facts that the system has about the helper.
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
    HELPER_RIG_FDS = 6 /* of an idle helper: 0-2, socket, signals, inotify */
};

/* SHELL and the hooks behind it run the script that they are given. */
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
    size_t exited, opened, changed, reloaded, lost; /* events so far */
    bool reload_ok;                                 /* of the last on_reloaded */
    char reload_text[256];                          /* the content of its file; "" without one */
    uint32_t changed_file;                          /* of the last on_changed */
    size_t started;     /* how many of the runs that exited had a program started */
    struct list asked;  /* the requests that helper_rig_asked() made */
    struct run_end end; /* of the last event */
    uint64_t end_of;    /* the number of its run */
    struct err err;     /* of on_lost */
    size_t fds;         /* of the helper when it is idle */
    bool dispose;       /* to be called from inside the next event */
    bool called;        /* inside a call of the test: no event may come */
};

/* Runs the loop until the condition holds. */
#define HELPER_RIG_AWAIT(w, condition) \
    while (!(condition))               \
    loop_run((w)->loop)

/* Starts a helper of its own. An alarm ends a test that hangs. */
void helper_rig_open(struct helper_rig *w);

/* The same with this setting of all hooks. */
void helper_rig_open_leave(struct helper_rig *w, bool kills_left);

/* The tree of cgroups of this test program. Skips the test if this machine lets nobody make cgroups. */
const struct cgroup_tree *helper_rig_tree(void);

/* The runs of the rig that is opened next have cgroups in that tree. */
void helper_rig_use_cgroups(void);

/* The same with this credential file, as file 0. */
void helper_rig_open_file(struct helper_rig *w, const char *path);

/* The same with hooks of the test's own, any number of runs at a time if their concurrency is 0;
 * the programs may use INFORMERD_SCRIPT. */
void helper_rig_open_with(struct helper_rig *w, const struct helper_hook *hooks, size_t count);

/* The same with these parameters as they are, and with this way to reload (NULL = none). */
void helper_rig_open_params(struct helper_rig *w, const struct helper_params *params,
                            const struct helper_reload *reload);

/* Ends the helper, if the test has not; fails if its exit code is not 0, or a handle leaked. */
void helper_rig_close(struct helper_rig *w);

/* Waits for the end of the helper: its exit code, or minus the signal. */
int helper_rig_wait(struct helper_rig *w);

/* The run that has this number in the test; made if there is none. Owned by the rig. */
struct helper_run *helper_rig_asked(struct helper_rig *w, uint64_t id);

/* Runs a script as run id with INFORMERD_RUN=run-<id>; takes in (its stdin), returns the reading
 * end of its output. */
int helper_rig_run_with(struct helper_rig *w, uint64_t id, enum helper_rig_hook hook, int in,
                        const char *script);

/* helper_rig_run_with() with nothing to read. */
int helper_rig_run(struct helper_rig *w, uint64_t id, enum helper_rig_hook hook,
                   const char *script);

/* Everything that can be read until the end, or until the first newline; valid until the next
 * call. */
const char *helper_rig_read(int fd, bool one_line);

/* The next line must be this one. */
void helper_rig_expect_line(int fd, const char *line);

/* Nothing more may come: no process holds the other end any more. Closes fd. */
void helper_rig_expect_eof(int fd);

/* The descriptors that a process has open. */
size_t helper_rig_fds(pid_t pid);

/* The watches of inotify that a process has. */
size_t helper_rig_watches(pid_t pid);

/* The children of a process, zombies too. */
size_t helper_rig_children(pid_t pid);

/* Runs hook 0, which must be /bin/true or like it, until the helper has no child any more; the
 * helper must have no descriptor of a run open then. */
void helper_rig_expect_clean(struct helper_rig *w);

/* A child of the test that does nothing until it is killed. */
pid_t helper_rig_idle_child(void);

/* The private memory of a process in KiB. */
size_t helper_rig_memory(pid_t pid);

#endif
