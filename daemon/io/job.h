/* SPDX-License-Identifier: Apache-2.0 */
/*
 * job - one run as processes: its programs one after the other, their pipes, deadlines and ends;
 * driver. A run of a hook with output is its command, whose stdout is taken, and then the helper
 * that writes the file. Used by runner alone.
 */
#ifndef IO_JOB_H
#define IO_JOB_H

#include "base/list.h"
#include "io/runner.h"

/* Owned by the runner until job_events.on_gone. */
struct job;

/* All are called from the loop or from job_exited() and job_kill(). */
struct job_events {
    /* The run is over: job_run() is NULL from here on. end is how its last program ended; that and
     * what result borrows live until return. */
    void (*on_over)(void *arg, struct run *run, const struct helper_link_exit *end,
                    const struct run_result *result);
    /* After on_over: its output is over too, or was given up: dispose it. */
    void (*on_gone)(void *arg, struct job *job);
};

/* Makes all that the run needs, its input too: that tells what is there now, as the events of the
 * run do. ERR_IO: no descriptors or no memory file, err.code is the errno (shortage_lacking() with
 * SHORTAGE_MEMORY_FILE covers both); ERR_CONFIG, ERR_TOO_BIG: it cannot be told its fields
 * (payload_put_env()). *out is NULL then. params, run and events must outlive the process. */
enum err_kind job_create(const struct runner_params *params, struct run *run,
                         const struct job_events *events, void *arg, struct job **out,
                         struct err *err) MUST_CHECK;

/* Starts it through the link. Once. */
void job_start(struct job *j);

/* The run it is; NULL after on_over. */
struct run *job_run(const struct job *j);

/* The kill signal now, SIGKILL after the grace. No further program is started. */
void job_kill(struct job *j);

/* A program of it has ended: the next one is started, or the run is over. */
void job_exited(struct job *j, const struct helper_link_exit *end);

/* The end for the user: *j is NULL. NULL is fine. */
void job_dispose(struct job **j);

/* The runner's list of jobs hangs on this. */
struct list *job_link(struct job *j);

/* The job of a link. */
struct job *job_of_link(struct list *link);

#endif
