/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runs - the programs that the helper has started and not yet reaped, and the processes that a run
 * leaves behind after it failed or was stopped, until these are killed (docs/design.md
 * "Processes"); driver.
 */
#ifndef HELPER_RUNS_H
#define HELPER_RUNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "helper/child.h"
#include "helper/run_cgroup.h"

/* A run is over; runs has forgotten it already, so its id is free. end is borrowed. Called inside
 * of runs_reap(), runs_clear() and runs_end_all(); may call runs_add(). */
typedef void runs_end_cb(void *arg, uint64_t id, const struct run_end *end);

/* How a run ends. */
struct runs_stop {
    int signal_number; /* when main is gone */
    bool kills_left;   /* processes that the run leaves after a good end are killed, too */
    uint64_t grace_ms; /* from this signal to SIGKILL */
};

struct runs {
    struct run *all; /* in no order */
    size_t count;
    size_t capacity;
    size_t clearing; /* runs in RUN_CLEARING: their program is reaped, the rest is being killed */
    bool
        is_one_reaped; /* a child that is no program was reaped since the runs were last looked at */
    struct run_cgroups *cgroups;
    runs_end_cb *on_end;
    void *arg;
};

/* Begins without runs; cgroups is borrowed. This process must be a subreaper
 * (PR_SET_CHILD_SUBREAPER). */
void runs_init(struct runs *r, struct run_cgroups *cgroups, runs_end_cb *on_end, void *arg);

/* Forgets the runs that are left, without on_end, and frees the memory. */
void runs_fini(struct runs *r);

/* Is there a run of this id? */
bool runs_has(const struct runs *r, uint64_t id) MUST_CHECK;

/* Takes over a child that was started, and the cgroup that it is in. No other run may have the id. A run
 * needs nothing more of its hook: it outlives the configuration that it was started by. */
void runs_add(struct runs *r, uint64_t id, struct runs_stop stop, struct child child,
              struct run_cgroup cgroup);

/* Sends a signal to the process group of a run, and to its program if that has left the group; SIGKILL
 * goes to all processes of its cgroup as well. An unknown id is no error: that run has ended. When the
 * program ends later, SIGKILL goes to all that is left of the run. */
void runs_kill(struct runs *r, uint64_t id, int signal_number);

/* Kills the processes that a run with this name left behind after a good end, which spared them; only
 * those in its cgroup are known. It acts as a run of that id whose program is reaped: on_end reports
 * its end (EXITED, 0) once no process is left, or after 5 s, maybe before this function returns. No
 * other run may have the id. */
void runs_clear(struct runs *r, uint64_t id, const char *name);

/* Reaps every child that has ended. After a good end the other processes of the run are spared, unless
 * its stop says otherwise, and its end counts those in its cgroup. After any other end the group of the
 * run gets SIGKILL, before its leader is reaped (docs/decisions.md "A process group is killed before
 * its leader is reaped"), and so does its cgroup. on_end runs for each run that is over; after a bad
 * end once no process is left, or after 5 s. */
void runs_reap(struct runs *r);

/* In how many milliseconds the caller must call runs_reap() even without SIGCHLD; -1 = only
 * SIGCHLD makes it necessary. */
int runs_wait_ms(const struct runs *r) MUST_CHECK;

/* Ends all runs: each one gets its kill_signal as runs_kill() sends it, and SIGKILL after its
 * kill_grace. Returns when every program is reaped and the processes it left are gone, or 5 s after
 * SIGKILL. signal_fd is a signalfd of SIGCHLD, not blocking. on_end runs for each run that is
 * over. */
void runs_end_all(struct runs *r, int signal_fd);

#endif
