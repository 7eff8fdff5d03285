/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runner - carries out the runs that the scheduler in hook/ hands out: input file, pipes, helper,
 * timeout, output to the log; driver.
 */
#ifndef IO_RUNNER_H
#define IO_RUNNER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hook/hook.h"
#include "hook/payload.h"

struct helper_link;
struct state_driver;
struct loop;
struct runner;

/* The most MiB that a command may print to become a file. */
enum { RUNNER_OUTPUT_MIB = 64 };

/* How long to wait for the end of runs after their SIGKILL, on top of the longest grace. A process is gone at
 * once then; if the helper does not say so, nobody waits any longer. */
#define RUNNER_LAST_WAIT_MS 5000

/* The settings of one hook that the runner needs. */
struct runner_hook {
    const char *program; /* command[0]: for messages */
    const char *check;   /* the program that checks its output, also for messages; NULL = none */
    const char *apply;   /* the program of apply, also for messages; NULL = none */
    uint64_t timeout_ms; /* for each of its programs, and for writing the file */
    int kill_signal;     /* at the timeout; SIGKILL follows after kill_grace_ms */
    uint64_t kill_grace_ms;
    uint64_t log_limit; /* bytes of output per stream and run that reach the log */
    bool hides_output;  /* its programs may print secrets: their output is not logged */
};

/* Borrowed; must outlive the runner. */
struct runner_params {
    struct loop *loop;
    struct helper_link *link;
    struct hooks *hooks;
    /* brings the delivery records of a run to disk before it starts, if the disk takes them */
    struct state_driver *state_driver;
    const struct runner_hook *by_index; /* by hook.index */
    struct payload_context context;
    bool dry_run; /* starts nothing: logs what it would start, which then counts as handled */
};

/* Called from the loop. */
struct runner_events {
    /* Runs have left the schedule, or one has ended: the receiver adds the delivery records that
     * changed to the batch of the state driver now. */
    void (*on_deliveries)(void *arg);
    /* A run has ended. May be NULL. Not called for a run that the system could not start
     * (docs/decisions.md "A shortage of the system is no failure of the hook"). */
    void (*on_result)(void *arg, const struct hook *hook, const struct history_run *ended);
    /* A run has ended, or the scheduler was asked for due runs: informerd may be ready now, or may
     * be able to stop. */
    void (*on_progress)(void *arg);
};

/* Never NULL; release with runner_dispose(). events must outlive the runner. No run starts before
 * runner_begin(). */
struct runner *runner_create(const struct runner_params *params, const struct runner_events *events,
                             void *arg);

/* Lets runs start. To be called once the fingerprints of all hooks are known, as a changed program
 * means that its hook is renewed. */
void runner_begin(struct runner *r);

/* Something may be due: asks the scheduler in the next turn of the loop. Cheap to call often. */
void runner_kick(struct runner *r);

/* Starts no new runs from now on; runs under way go on. */
void runner_stop(struct runner *r);

/* Sends its kill signal to every run under way, and SIGKILL after its grace period. Runs that still
 * wait for their records on disk end without being started. */
void runner_kill_all(struct runner *r);

/* Does the caller mean this hook? A run of apply that several hooks share is a run of each of them. */
typedef bool runner_pick_cb(const void *arg, const struct hook *h);

/* The same for the runs of these hooks: a reload does not wait for them any longer. */
void runner_kill(struct runner *r, runner_pick_cb *picks, const void *arg);

/* Does the helper remove stray files now? A reload waits for that before runner_before_change(). */
bool runner_is_sweeping(const struct runner *r);

/* A reload is about to add, replace and drop hooks: to be called before. */
void runner_before_change(struct runner *r);

/* Hooks have taken their own places, and the configuration is the same: to be called after. */
void runner_after_renewal(struct runner *r);

/* The hooks are those of another configuration now. by_index as in runner_params; was[i] is the index
 * that hook i had before, SIZE_MAX = it is new. Runs under way go on. */
void runner_change(struct runner *r, const struct runner_hook *by_index, const size_t *was,
                   size_t n);

/* The longest kill_grace of all hooks. */
uint64_t runner_longest_grace_ms(const struct runner *r);

/* The number of runs under way, with those that wait for their records on disk. */
size_t runner_running(const struct runner *r);

/* The same for the runs of these hooks. */
size_t runner_running_of(const struct runner *r, runner_pick_cb *picks, const void *arg);

/* The end for the user: *r is NULL; runs under way are no longer followed. NULL is fine. */
void runner_dispose(struct runner **r);

#endif
