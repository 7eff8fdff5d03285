/* SPDX-License-Identifier: Apache-2.0 */
/*
 * job - one run as a process: its pipes, its deadline, its end; driver. Used by runner alone.
 */
#ifndef IO_JOB_H
#define IO_JOB_H

#include "base/list.h"
#include "io/runner.h"

/* Owned by the runner until job_events.on_gone. */
struct job;

/* All are called from the loop. */
struct job_events {
    /* Its output is over too, or was given up: dispose it. */
    void (*on_gone)(void *arg, struct job *job);
};

/* Starts the run through the link. ERR_IO: no descriptors or no memory file; ERR_CONFIG,
 * ERR_TOO_BIG: it cannot be told its fields (payload_put_env()). Nothing was started then, *out is
 * NULL. params, run and events must outlive the process. */
enum err_kind job_start(const struct runner_params *params, struct run *run,
                        const struct job_events *events, void *arg, struct job **out,
                        struct err *err) MUST_CHECK;

/* The run it is; NULL after job_exited(). */
struct run *job_run(const struct job *j);

/* The kill signal now, SIGKILL after the grace. */
void job_kill(struct job *j);

/* The process has ended: drains its output and says how it went; what result borrows lives until
 * job_let_go(), which must follow. */
void job_exited(struct job *j, const struct helper_link_exit *end, struct run_result *result);

/* The result has been used. on_gone comes before this returns, or when the output is over or given
 * up. */
void job_let_go(struct job *j);

/* The end for the user: *j is NULL. NULL is fine. */
void job_dispose(struct job **j);

/* The runner's list of jobs hangs on this. */
struct list *job_link(struct job *j);

/* The job of a link. */
struct job *job_of_link(struct list *link);

#endif
