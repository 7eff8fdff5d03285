/* SPDX-License-Identifier: Apache-2.0 */
/*
 * history - the last runs of a hook, for informerctl runs; pure, bounded.
 */
#ifndef HOOK_HISTORY_H
#define HOOK_HISTORY_H

#include <stddef.h>
#include <stdint.h>

#include "cache/delta.h"
#include "hook/run.h"

enum { HISTORY_RUNS = 32 };

enum history_outcome { HISTORY_OK, HISTORY_FAILED, HISTORY_PARKED };

/* Of apply there is no event, in any mode. */
struct history_run {
    uint64_t id;
    enum run_kind kind;
    bool keyed;           /* object: about one event */
    char *source;         /* of that; else "" */
    char *key;            /* of that; else "" */
    enum delta_type type; /* of that */
    size_t event_count;
    enum run_reason reason;
    unsigned attempt;
    enum history_outcome outcome;
    char *text;           /* as run_result.text */
    char *file;           /* its path; NULL = none */
    enum run_file became; /* of the file */
    uint64_t ended_ns;    /* wall clock */
    uint64_t took_ms;
    uint64_t cpu_us;
    uint64_t dropped; /* bytes of output over log_limit */
    struct buf out;   /* the last of its stdout (OUTPUT_TAIL_BYTES) */
    struct buf err;   /* of its stderr */
};

/* Zero-initialised is empty. */
struct history {
    struct history_run v[HISTORY_RUNS];
    size_t next; /* the place of the next one */
    size_t n;
};

/* Adds a run that has ended; the oldest one goes. */
void history_add(struct history *h, const struct run *run, const struct run_result *result,
                 enum history_outcome outcome, uint64_t now_ms);

/* The i-th run, newest first, 0 <= i < h->n. */
const struct history_run *history_get(const struct history *h, size_t i);

/* The newest run for a key of a source, or of the hook for "" and "", or NULL. */
const struct history_run *history_of_key(const struct history *h, const char *source,
                                         const char *key);

/* The newest run of apply, or NULL. */
const struct history_run *history_of_apply(const struct history *h);

/* "ok", "failed", "parked". */
const char *history_outcome_name(enum history_outcome outcome);

/* Frees what it holds. */
void history_fini(struct history *h);

#endif
