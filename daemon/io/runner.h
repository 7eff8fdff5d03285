/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runner - carries out the runs that hook/ hands out: input file, pipes, helper, timeout, output
 * to the log; driver.
 */
#ifndef IO_RUNNER_H
#define IO_RUNNER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hook/hook.h"
#include "hook/payload.h"

struct helper_link;
struct helper_link_exit;
struct state_driver;
struct loop;
struct runner;

/* What a command may print to become a file. */
enum { RUNNER_OUTPUT_MIB = 64 };

/* Of one hook. */
struct runner_hook {
    const char *program; /* command[0]: for messages */
    const char *check;   /* of its output; the same; NULL = none */
    const char *apply;   /* the same */
    uint64_t timeout_ms; /* of each of its programs, and of writing the file */
    int kill_signal;     /* at the timeout; SIGKILL follows after kill_grace_ms */
    uint64_t kill_grace_ms;
    uint64_t log_limit; /* bytes of output per stream and run that reach the log */
};

/* Borrowed; must outlive the runner. */
struct runner_params {
    struct loop *loop;
    struct helper_link *link;
    struct hooks *hooks;
    struct state_driver
        *state_driver; /* what a run is about is on disk before it starts, if that can be */
    const struct runner_hook *by_index; /* by hook.index */
    struct payload_context context;
    bool dry_run; /* starts nothing: says what it would start, which then counts as handled */
};

/* Called from the loop. */
struct runner_events {
    /* Runs have left the schedule, or one has ended: that is to be put into the keeper's batch now. */
    void (*on_deliveries)(void *arg);
    /* A run has ended. May be NULL. */
    void (*on_result)(void *arg, const struct hook *hook, const struct history_run *ended);
    /* A run has ended, or the schedule was asked: READY or the end of a stop may be due. */
    void (*on_progress)(void *arg);
};

/* Never NULL. events must outlive it. */
struct runner *runner_create(const struct runner_params *params, const struct runner_events *events,
                             void *arg);

/* Nothing is due before this. */
void runner_begin(struct runner *r);

/* Something may be due: asks the schedule in the next turn of the loop. Cheap to call often. */
void runner_kick(struct runner *r);

/* What the link reports of a run. */
void runner_exited(struct runner *r, const struct helper_link_exit *end);

/* No new runs from now on; those under way go on. */
void runner_stop(struct runner *r);

/* Every run under way gets its kill signal, after its grace SIGKILL. */
void runner_kill_all(struct runner *r);

/* The longest kill_grace of all hooks. */
uint64_t runner_longest_grace_ms(const struct runner *r);

/* Runs under way. */
size_t runner_running(const struct runner *r);

/* The end for the user: *r is NULL; runs under way are no longer followed. NULL is fine. */
void runner_dispose(struct runner **r);

#endif
