/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runs - the programs that the helper has started and not yet reaped; driver.
 */
#ifndef HELPER_RUNS_H
#define HELPER_RUNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/wire.h"
#include "helper/child.h"

/* Hears of each end, in the order of reaping; the run is already forgotten. */
typedef void runs_end_cb(void *arg, const struct wire_reply *reply);

struct runs {
    struct run *all; /* in no order; each has a child that is not reaped */
    size_t count;
    size_t capacity;
    runs_end_cb *on_end;
    void *arg;
};

/* Makes it empty. */
void runs_init(struct runs *r, runs_end_cb *on_end, void *arg);

/* Forgets the runs that are left. */
void runs_fini(struct runs *r);

/* Is there a run of this id? */
bool runs_has(const struct runs *r, uint64_t id) MUST_CHECK;

/* Takes over a started child. No other run may have its id. */
void runs_add(struct runs *r, uint64_t id, const struct helper_hook *hook, struct child child);

/* Sends a signal to the group of a run; unknown ids have ended, which is no error. What is left of
 * the group when the program ends gets SIGKILL. */
void runs_kill(struct runs *r, uint64_t id, int signal_number);

/* Reaps every child that has ended; on_end runs for each. While the first process of a group is
 * not reaped its number cannot be used again, so unless it ended well, the rest of its group gets
 * SIGKILL before that. */
void runs_reap(struct runs *r);

/* Ends all: kill_signal to each group, SIGKILL after its grace, and returns once all are reaped (or
 * 5 s after SIGKILL). signal_fd delivers SIGCHLD. on_end runs for each. */
void runs_end_all(struct runs *r, int signal_fd);

#endif
