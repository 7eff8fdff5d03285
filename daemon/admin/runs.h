/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runs - the last runs of hooks as JSON; pure.
 */
#ifndef ADMIN_RUNS_H
#define ADMIN_RUNS_H

#include <stdbool.h>

#include "proto/json_out.h"

struct admin_model;
struct buf;
struct history_run;
struct hook;

/* How much of a run an answer shows. */
enum runs_detail {
    RUNS_BRIEF,  /* without the output of the run */
    RUNS_SECRET, /* the output is null: the hook gets Secrets, and the reader may not see them */
    RUNS_FULL,   /* with the end of stdout and stderr */
};

/* Writes an object: run, hook, program, ended, took_s, source, key, event, events, reason, attempt,
 * outcome, result, file, became, cpu_s, dropped_bytes, and, unless detail is RUNS_BRIEF, last_line,
 * stdout, stderr. */
void runs_put(struct json_out *j, const struct admin_model *m, const struct hook *h,
              const struct history_run *r, enum runs_detail detail);

/* Appends the array of GET /v1/runs, or with only != NULL of that hook's runs, the newest last. To
 * a reader that is not privileged, the output of hooks that get Secrets is not shown. */
void runs_put_all(struct buf *out, const struct admin_model *m, const struct hook *only,
                  bool privileged);

#endif
