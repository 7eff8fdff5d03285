/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hook_schedule_oracle - judges when the runs of one hook start: gate, pause, slots, min_interval, ladder,
 * parking, reruns, orders, and what reason and attempt they give. Like hook_oracle, which judges
 * what they are told, it sees the hook from the outside and asserts on the spot; pure.
 */
#ifndef WORK_ITEM_HOOK_WARDEN_H
#define WORK_ITEM_HOOK_WARDEN_H

#include "hook_oracle.h"

enum { WARDEN_PARK = 75, WARDEN_OUTAGE = ORACLE_KEYS };

/* What runs one at a time: a key, an outage of a source, or a whole hook. */
struct hook_schedule_oracle_work_item {
    unsigned failures; /* since a success, or another matter */
    bool running;
    bool ran;
    bool parked;      /* the last run wanted that, or used the attempts up */
    bool news;        /* something that counts has changed since the last start */
    bool another;     /* a life began or ended since the last start */
    bool ordered;     /* by a person, since the last start */
    bool existing;    /* since the hook first saw the source, and no run has ended */
    unsigned uid;     /* of the last run; key */
    bool end;         /* was it about an end? key */
    uint64_t told_ms; /* start of the last run that told all; else when the source was opened */
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

/* A key (or WARDEN_OUTAGE) of a source changed; before the hook hears of it. life: one began or
 * ended; else it was modified. */
void hook_schedule_oracle_change(struct hook_schedule_oracle *w, size_t source, size_t key,
                                 bool life, bool end);

/* hooks_next() was called: the hook sees exactly those sources that it may. */
void hook_schedule_oracle_gate(struct hook_schedule_oracle *w, const struct hooks *hooks,
                               uint64_t now_ms);

/* hook_run_manually() said yes; key ORACLE_KEYS + 1 = all. */
void hook_schedule_oracle_ordered(struct hook_schedule_oracle *w, size_t key);

/* A run was started. all[0..n) are the wardens of all hooks. */
void hook_schedule_oracle_started(struct hook_schedule_oracle *all, size_t n,
                                  const struct hooks *hooks, const struct run *run,
                                  uint64_t now_ms);

/* Does the end of the run park its unit, unless something has changed? */
bool hook_schedule_oracle_parks(const struct hook_schedule_oracle *w, const struct run *run,
                                const struct run_result *result);

/* It has ended; before hooks_finish(). */
void hook_schedule_oracle_ended(struct hook_schedule_oracle *w, const struct run *run,
                                const struct run_result *result, uint64_t now_ms);

/* Nothing is left to do. */
void hook_schedule_oracle_quiet(const struct hook_schedule_oracle *w);

#endif
