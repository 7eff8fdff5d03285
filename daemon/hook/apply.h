/* SPDX-License-Identifier: Apache-2.0 */
/*
 * apply - whether a hook has something to apply (docs/design.md "Apply"); pure. It has a work queue of
 * its own beside that of the hook's command, with one work item. Files that are written in one burst are
 * applied once, and a failed apply is tried again although no file changes. hook/apply_group decides
 * when it starts. Used by the files of hook/hook alone.
 */
#ifndef HOOK_APPLY_H
#define HOOK_APPLY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "hook/run.h"
#include "hook/scheduler.h"

/* Runs of the command hold apply back for so long at most, from the first write that waits
 * (docs/design.md "Apply"). */
#define APPLY_HOLD_MS 10000

struct apply_group;

/* May a run of apply start? Decided by hook/apply_group before each scheduler_next(). */
enum apply_hold {
    APPLY_FREE,
    APPLY_SHUT,     /* its hook is paused, retires, has first runs left or stray files to remove */
    APPLY_GATHERS,  /* more files may be written, by its hook or by one that shares the program */
    APPLY_PAUSES,   /* the program has failed for another hook a moment ago */
    APPLY_INTERVAL, /* min_interval, since a run for another hook */
    APPLY_BESIDE,   /* the program runs, for other hooks */
};

/* Embedded in its hook. Read-only outside apply.c, but for work_item.manual_runs. */
struct apply {
    bool wanted;               /* the hook has a program `apply`; else nothing is ever due */
    struct apply_group *group; /* with whom it shares the program; NULL = not wanted */
    struct list link;          /* in group->applies */
    uint64_t timeout_ms;       /* of its runs: of several hooks, the one with the longest runs it */
    struct work_queue work_queue;
    struct work_item work_item;
    uint64_t since_ms;   /* since when a file waits to be applied; NEVER_MS = no file waits */
    uint64_t touched_ms; /* the first write, or manual run, since the last start; NEVER_MS = none */
    /* The value of touched_ms at the last start: to be put back if that run could not be
     * started. */
    uint64_t covered_ms;
    enum apply_hold hold;
    uint64_t held_ms; /* when hold ends at the latest; NEVER_MS = not at a time */
    uint64_t runs_ok;
    uint64_t runs_failed;
    char last_error[200]; /* of the last run if it failed or was not started, else "" */
};

/* Makes it empty and adds its work queue to the scheduler. params NULL: the hook has no program
 * `apply`. */
void apply_init(struct apply *a, struct scheduler *s, const struct work_queue_params *params);

/* A file of the hook changed, or was found equal but may never have been applied. */
void apply_touch(struct apply *a, uint64_t now_ms);

/* The apply that is due, if any, does not settle: the hook's first runs wrote the files. */
void apply_hurry(struct apply *a);

/* Is there a file to apply, now or later, or is a run of apply under way? */
bool apply_due(const struct apply *a);

/* Is apply due, and not under way? A run that is under way applies the files that were written
 * before it. */
bool apply_may_repeat(const struct apply *a);

/* Is apply due or under way, and not parked? */
bool apply_waits(const struct apply *a);

/* A manual run that no write belongs to counts as a write: it waits for a busy command, too, and no
 * longer than a write does. */
void apply_note_order(struct apply *a, uint64_t now_ms);

/* Lets no run start, or lets it start (APPLY_FREE). until_ms: when that ends at the latest;
 * NEVER_MS = not at a time. */
void apply_set_hold(struct apply *a, enum apply_hold hold, uint64_t until_ms);

/* When apply may start even if nothing happens until then; NEVER_MS = never. */
uint64_t apply_wake_ms(const struct apply *a);

/* A run of apply starts. */
void apply_started(struct apply *a, uint64_t now_ms);

/* The run of apply has ended: DONE, FAILED, PARKED or NOT_STARTED; text says how it failed. Files
 * that were written while it ran are due again. */
void apply_ended(struct apply *a, struct scheduler *s, const struct run *run,
                 enum scheduler_result end, const char *text, uint64_t now_ms);

/* For how long a file has waited to be applied, in ms; 0 = no file waits, or apply is parked. */
uint64_t apply_age_ms(const struct apply *a, uint64_t now_ms);

#endif
