/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hook_schedule_oracle - judges when the runs of one hook start: gate, pause, slots, min_interval,
 * backoff, parking, reruns, manual runs, and the reason and attempt of each. Like hook_oracle,
 * which judges the events of the runs, it sees the hook from the outside and asserts on the spot;
 * pure.
 */
#ifndef UNIT_HOOK_SCHEDULE_ORACLE_H
#define UNIT_HOOK_SCHEDULE_ORACLE_H

#include "hook_oracle.h"

enum { SCHEDULE_PARK = 75, SCHEDULE_OUTAGE = ORACLE_KEYS };

/* A work item, of which one run is under way at most: a key, an outage of a source, or a whole
 * hook. */
struct hook_schedule_oracle_work_item {
    unsigned failures; /* since the last success, or since the runs were about something else */
    bool running;
    bool ran;
    bool parked;   /* the last run asked for that, or used the attempts up */
    bool news;     /* a change that counts came since the last start */
    bool another;  /* an incarnation began or ended since the last start */
    bool ordered;  /* a person asked for a run since the last start */
    bool existing; /* the hook saw it when it first saw the source, and no run has ended since */
    unsigned uid;  /* the uid of the last run; key */
    bool end;      /* was the last run for an end? key */
    /* the start of the last run that had everything; else when the source was opened */
    uint64_t whole_ms;
    uint64_t ended_ms;
};

struct hook_schedule_oracle {
    const struct oracle_cache *cache;
    struct hook *hook;
    size_t source_of[ORACLE_SOURCES]; /* by the hook's own index */
    bool open[ORACLE_SOURCES];        /* by source */
    bool paused;
    bool good; /* a run has succeeded */
    unsigned running;
    uint64_t last_start_ms; /* 0 = none */
    struct hook_schedule_oracle_work_item work_items[ORACLE_SOURCES][ORACLE_KEYS + 1];
    struct hook_schedule_oracle_work_item whole; /* batch, snapshot */
};

/* A key (or SCHEDULE_OUTAGE) of a source changed; to be called before the hook is. begun_or_ended:
 * an incarnation began or ended; else it was modified. */
void hook_schedule_oracle_change(struct hook_schedule_oracle *w, size_t source, size_t key,
                                 bool begun_or_ended, bool end);

/* hooks_next() was called: the hook must see exactly the sources that it may see. */
void hook_schedule_oracle_gate(struct hook_schedule_oracle *w, const struct hooks *hooks,
                               uint64_t now_ms);

/* hook_run_manually() returned ERR_OK; key ORACLE_KEYS + 1 = all keys. */
void hook_schedule_oracle_ordered(struct hook_schedule_oracle *w, size_t key);

/* A run was started. all[0..n) are the oracles of all hooks. */
void hook_schedule_oracle_started(struct hook_schedule_oracle *all, size_t n,
                                  const struct hooks *hooks, const struct run *run,
                                  uint64_t now_ms);

/* Does the end of the run park its work item, unless something has changed? */
bool hook_schedule_oracle_parks(const struct hook_schedule_oracle *w, const struct run *run,
                                const struct run_result *result);

/* The run has ended; to be called before hooks_finish(). */
void hook_schedule_oracle_ended(struct hook_schedule_oracle *w, const struct run *run,
                                const struct run_result *result, uint64_t now_ms);

/* Nothing is left to do. */
void hook_schedule_oracle_quiet(const struct hook_schedule_oracle *w);

#endif
