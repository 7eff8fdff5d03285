/* SPDX-License-Identifier: Apache-2.0 */
/*
 * outputs - what must be applied of one hook's files over all lives of a daemon that remembers, and
 * what need not be. Laxer than shelf, which knows when: that is for a life that remembers nothing.
 */
#ifndef SIM_OUTPUTS_H
#define SIM_OUTPUTS_H

#include "sim/output_files.h"

/* Zero but for the first four. */
struct outputs {
    const struct rules *rules;
    struct output_files *output_files; /* what the files hold */
    const struct disk *disk;
    uint64_t *features;         /* FEATURES counts */
    bool renewed[API_KEYS];     /* what it holds is to be applied again when a run finds it */
    bool unsure[API_KEYS];      /* the daemon may not know what it holds */
    uint64_t numbers[API_KEYS]; /* the batch with what it knows */
    uint64_t writes;            /* in all */
    uint64_t applied;           /* the last one that an apply has begun behind, and ended well */
    uint64_t covers;            /* the same of the one under way */
    bool excused;               /* it may be applied though nothing was written */
    bool kept;                  /* an earlier life has left something to be applied */
    uint64_t number;            /* the batch with that */
};

/* What the files hold is to be applied again when it is seen. */
void outputs_renew(struct outputs *o);

/* Is the file of the run, if it has one, what the run would make of it? */
bool outputs_holds(const struct outputs *o, const struct run *run, uint64_t bytes);

/* A run with a file ends in a life that remembers: fills what the result says of the file, if ok. */
void outputs_fill(struct outputs *o, const struct run *run, bool ok, bool writes, uint64_t bytes,
                  struct run_result *result);

/* A run ends. writes: its file is in place, though it has failed. */
void outputs_end(struct outputs *o, const struct run *run, bool ok, bool writes,
                 const struct run_result *result);

/* A run was under way when the daemon died. writes: its file is in place. */
void outputs_cut(struct outputs *o, const struct run *run, bool writes, uint64_t bytes);

/* A run of apply starts. */
void outputs_begin_apply(struct outputs *o);

/* It ends, or dies with the daemon. */
void outputs_end_apply(struct outputs *o, bool ok);

/* The daemon has died; how much of its batches is on disk is known. */
void outputs_crash(struct outputs *o);

/* All is quiet, and nothing is parked. */
void outputs_check_quiet(const struct outputs *o);

#endif
