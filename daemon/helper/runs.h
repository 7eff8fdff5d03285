/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runs - the programs that the helper has started and not yet reaped, and after a bad end what they
 * have left behind; driver.
 */
#ifndef HELPER_RUNS_H
#define HELPER_RUNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/wire.h"
#include "helper/child.h"
#include "helper/orphans.h"

/* Hears of each end, in the order of reaping; the run is already forgotten. */
typedef void runs_end_cb(void *arg, const struct wire_reply *reply);

struct runs {
    struct run *all; /* in no order */
    size_t count;
    size_t capacity;
    size_t clearing;    /* those whose program is reaped, and what it left is being killed */
    bool is_one_reaped; /* an orphan, since that was last looked at */
    struct orphans orphans;
    runs_end_cb *on_end;
    void *arg;
};

/* Makes it empty; this process must be a subreaper. */
void runs_init(struct runs *r, runs_end_cb *on_end, void *arg);

/* Forgets the runs that are left. */
void runs_fini(struct runs *r);

/* Is there a run of this id? */
bool runs_has(const struct runs *r, uint64_t id) MUST_CHECK;

/* Takes over a started child. No other run may have its id. name is the value of INFORMERD_RUN in
 * its environment, copied; NULL = none. */
void runs_add(struct runs *r, uint64_t id, const struct helper_hook *hook, struct child child,
              const char *name);

/* Sends a signal to the group of a run, and to its program if that has left the group; unknown ids
 * have ended, which is no error. When the program ends, all that is left of the run gets SIGKILL: its
 * group, those that descend from it now, and those with its name. */
void runs_kill(struct runs *r, uint64_t id, int signal_number);

/* Kills what runs have left that have this name and were spared, as a run of that id does which ends
 * badly; on_end tells that nothing is left (EXITED, 0), maybe before it returns. No run may have the
 * id. */
void runs_clear(struct runs *r, uint64_t id, const char *name);

/* Reaps every child that has ended. A good end spares what the run has left, and tells of it.
 * Otherwise its group gets SIGKILL (while its first process is not reaped, the number cannot be
 * used again), then what escaped from there. on_end runs for each, after a bad end once nothing is
 * left, or after 5 s. */
void runs_reap(struct runs *r);

/* In how many milliseconds runs_reap() is due without SIGCHLD; -1 = it is not. */
int runs_wait_ms(const struct runs *r) MUST_CHECK;

/* Ends all: kill_signal as runs_kill() sends it, SIGKILL after its grace, and returns once all are reaped and
 * what they have left is gone (or 5 s after SIGKILL). signal_fd delivers SIGCHLD. on_end runs for
 * each. */
void runs_end_all(struct runs *r, int signal_fd);

#endif
