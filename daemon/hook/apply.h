/* SPDX-License-Identifier: Apache-2.0 */
/*
 * apply - when what a hook wrote is to be applied (docs/design.md "Apply"): a work queue of its own
 * beside the one of the hook's command, with one unit; pure. What is written in one burst is
 * applied once, and what could not be applied is tried again though no file changes. Used by the
 * files of hook alone.
 */
#ifndef HOOK_APPLY_H
#define HOOK_APPLY_H

#include <stdbool.h>
#include <stdint.h>

#include "hook/scheduler.h"

/* Runs of the command hold apply back for so long at most, from the first write that waits. */
#define APPLY_HOLD_MS 10000

/* Embedded in its hook. Read-only outside apply.c, but for unit.orders. */
struct apply {
    bool wanted; /* the hook has a program for it; else nothing is ever due */
    struct work_queue work_queue;
    struct work_item work_item;
    uint64_t since_ms;   /* since when something waits to be applied; NEVER_MS = nothing does */
    uint64_t touched_ms; /* the first write, or order, since the last start; NEVER_MS = none */
    uint64_t covered_ms; /* what that was at the last start: put back if it was none */
    uint64_t held_ms;    /* held back until then at the latest; NEVER_MS = not for a time */
    uint64_t runs_ok;
    uint64_t runs_failed;
    char last_error[200]; /* of the last run, if that failed; else "" */
};

/* params NULL: the hook has no program for it. */
void apply_init(struct apply *a, struct scheduler *s, const struct work_queue_params *params);

/* A file of the hook changed, or was found as it may not have been applied. */
void apply_touch(struct apply *a, uint64_t now_ms);

/* What is due does not settle: it was written by the hook's first runs. */
void apply_hurry(struct apply *a);

/* Is there something to apply, now or later, or is that under way? */
bool apply_due(const struct apply *a);

/* Is there, and not under way? A run that is has what was written before. */
bool apply_may_repeat(const struct apply *a);

/* Is there, and not parked? */
bool apply_waits(const struct apply *a);

/* Before each look at the schedule: nothing starts while the hook is shut; while its command is
 * busy nothing does for APPLY_HOLD_MS from the first write on: more may come. */
void apply_hold(struct apply *a, bool shut, bool busy, uint64_t now_ms);

/* Is it the command that holds it back? */
bool apply_is_held(const struct apply *a);

/* When apply_hold() will no longer hold it back though nothing has happened; NEVER_MS = never. */
uint64_t apply_wake_ms(const struct apply *a);

/* A run of it starts. */
void apply_started(struct apply *a, uint64_t now_ms);

/* How a run of it ended. */
struct apply_end {
    enum scheduler_result how; /* DONE, FAILED or DENIED */
    const char *text;          /* how it failed; borrowed */
    uint64_t started_ms;
};

/* The run has ended. What was written while it ran is due again. */
void apply_ended(struct apply *a, struct scheduler *s, const struct apply_end *end,
                 uint64_t now_ms);

/* For how long something has waited to be applied, in ms; 0 = nothing waits, or it is parked. */
uint64_t apply_age_ms(const struct apply *a, uint64_t now_ms);

#endif
