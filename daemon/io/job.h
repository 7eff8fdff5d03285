/* SPDX-License-Identifier: Apache-2.0 */
/*
 * job - one run as processes: its programs one after the other, their pipes, deadlines and ends;
 * driver. A run of a hook with output is its command, whose stdout is captured, and then the
 * program of the helper that writes the file. Used by runner alone.
 */
#ifndef IO_JOB_H
#define IO_JOB_H

#include "base/list.h"
#include "io/runner.h"

/* Owned by the runner until job_events.on_gone. */
struct job;

/* All are called from the loop or from job_kill(). */
struct job_events {
    /* The run is over: job_run() is NULL from here on. The strings of result live until return. */
    void (*on_over)(void *arg, struct run *run, struct run_result *result);
    /* After on_over: the output of the run has ended too, or was given up. The receiver disposes
     * the job. */
    void (*on_gone)(void *arg, struct job *job);
};

/* Makes everything that the run needs to start. The input document is made here, too, so that it
 * shows the same states as the events of the run
 * (docs/decisions.md "The input of a run is made before the wait for its records"). params, run and
 * events must outlive the job. On an error *out is NULL. ERR_IO: there are no descriptors or no
 * memory file; err.code is the errno, and the stage MEMORY_FILE covers both.
 * ERR_CONFIG, ERR_TOO_BIG: its `fields` make no environment (payload_put_env()). */
enum err_kind job_create(const struct runner_params *params, struct run *run,
                         const struct job_events *events, void *arg, struct job **out,
                         struct err *err) MUST_CHECK;

/* Starts the first program through the link. Once. */
void job_start(struct job *j);

/* The run of the job; NULL after on_over. */
struct run *job_run(const struct job *j);

/* A reload has given the hook of the run another index, or other settings of time: they count from
 * now on, except for time limits that run already. */
void job_change(struct job *j);

/* Sends the kill signal now, and SIGKILL after the grace period. No further program is started, and
 * the run counts as stopped (run_result). */
void job_kill(struct job *j);

/* The end for the user: *j is NULL, and no event follows. Processes of the run go on. NULL is
 * fine. */
void job_dispose(struct job **j);

/* The link with which the runner keeps the job on its list. */
struct list *job_link(struct job *j);

/* The job that this link belongs to. */
struct job *job_of_link(struct list *link);

#endif
