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

/* What a reader may see of a run. */
enum runs_detail {
    RUNS_BRIEF,  /* all but what it printed */
    RUNS_SECRET, /* the same; what it printed is null: its hook gets Secrets, the reader may not */
    RUNS_FULL,
};

/* Writes an object: run, hook, program, ended, took_s, source, key, event, events, reason, attempt,
 * outcome, result, file, became, cpu_s, dropped_bytes, and, but for BRIEF, last_line, stdout,
 * stderr. */
void runs_put(struct json_out *j, const struct admin_model *m, const struct hook *h,
              const struct history_run *r, enum runs_detail detail);

/* Appends the array of GET /v1/runs, or of one hook's, the newest last. Objects of Secrets are
 * shown to the privileged only: what hooks of theirs printed, too. */
void runs_put_all(struct buf *out, const struct admin_model *m, const struct hook *only,
                  bool privileged);

#endif
