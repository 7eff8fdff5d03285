/* SPDX-License-Identifier: Apache-2.0 */
/*
 * outputs - judges the applies of one hook over all processes of a daemon with delivery records:
 * each written file is applied, and no apply is without a cause. Less strict than sim/output_files,
 * which knows the times of applies, but only for a process that remembers nothing.
 */
#ifndef SIM_OUTPUTS_H
#define SIM_OUTPUTS_H

#include "sim/output_files.h"

/* All members after the first four begin with zero. */
struct outputs {
    const struct rules *rules;
    struct output_files *output_files; /* for the content of the files */
    const struct disk *disk;
    uint64_t *features;         /* FEATURES counts */
    bool renewed[API_KEYS];     /* a file must be applied again when a run finds it */
    bool unsure[API_KEYS];      /* the daemon may not know the content of the file */
    uint64_t numbers[API_KEYS]; /* the batch that has the digest of the file */
    uint64_t writes;            /* so many in all */
    uint64_t applied;           /* writes when the last good apply began */
    uint64_t covers;            /* writes when the apply under way began */
    bool excused;               /* an apply may start although nothing was written */
    bool kept;                  /* an earlier process has left files that are not applied */
    uint64_t number;            /* the batch that has the record of the last apply */
};

/* The hook is renewed: each file is to be applied again when a run has found it. */
void outputs_renew(struct outputs *o);

/* Has the file of the run the content that the run would give it? True if the run has no file. */
bool outputs_holds(const struct outputs *o, const struct run *run, uint64_t bytes);

/* A run ends: changes its file, and if ok fills in the members of the result about the file. */
void outputs_fill(struct outputs *o, const struct run *run, bool ok, bool writes, uint64_t bytes,
                  struct run_result *result);

/* A run ends. writes: the file is in place, although the run has failed. */
void outputs_end(struct outputs *o, const struct run *run, bool ok, bool writes,
                 const struct run_result *result);

/* A run was under way when the daemon died. writes: the file is in place. */
void outputs_cut(struct outputs *o, const struct run *run, bool writes, uint64_t bytes);

/* A run of apply starts: panics if it has no cause. */
void outputs_begin_apply(struct outputs *o);

/* The run of apply ends, or dies with the daemon. */
void outputs_end_apply(struct outputs *o, bool ok);

/* A reload has replaced the hook, or has added it again. */
void outputs_begin_hook(struct outputs *o);

/* The daemon has died, and disk->written says which batches are on disk. */
void outputs_crash(struct outputs *o);

/* All is quiet, and nothing is parked: panics if a file was never applied. */
void outputs_check_quiet(const struct outputs *o);

#endif
