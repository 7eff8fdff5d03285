/* SPDX-License-Identifier: Apache-2.0 */
/*
 * manual_runs - the manual runs (informerctl run) of one hook, each known by its number until its
 * runs have ended and for a while longer; pure. One manual run may be for many work items, and one
 * run may serve several manual runs: so a set of manual runs is a word with a bit for each, which a
 * work item, and then its run, carries.
 */
#ifndef HOOK_MANUAL_RUNS_H
#define HOOK_MANUAL_RUNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* As many as a set, which is a uint32_t, has bits. */
enum { MANUAL_RUNS_MAX = 32 };

/* One order of a person to run the hook. */
struct manual_run {
    uint64_t number; /* 1, 2, ...; 0 = the place is free */
    size_t total;    /* all runs that it counts, of work items and of `apply` */
    size_t left;     /* runs that have not ended yet */
    size_t failed;
};

/* Embedded in its hook; zero-initialised is empty. */
struct manual_runs {
    struct manual_run v[MANUAL_RUNS_MAX];
    uint64_t last; /* number of the newest manual run; 0 = there was none */
};

/* A work item is to run for the manual runs in set, too; *work_item is the set that it has so far.
 * Each of them that is new there counts one run more. */
void manual_runs_want(struct manual_runs *o, uint32_t *work_item, uint32_t set);

/* A run for the manual runs in set has ended; ok: it succeeded. */
void manual_runs_ended(struct manual_runs *o, uint32_t set, bool ok);

/* Is a manual run not over yet? */
bool manual_runs_wait(const struct manual_runs *o);

/* The manual run with this number, borrowed; NULL: there was none, or another one has taken its
 * place. */
const struct manual_run *manual_runs_find(const struct manual_runs *o, uint64_t number);

#endif
