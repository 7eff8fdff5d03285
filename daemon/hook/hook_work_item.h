/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hook_work_item - which events are due for a work item of a hook: for a key in mode object, for the
 * whole hook in the other modes; pure. Functions of hook/hook for other files of this folder alone. dl
 * is the delivery of the work item, NULL in modes batch and snapshot.
 */
#ifndef HOOK_HOOK_WORK_ITEM_H
#define HOOK_HOOK_WORK_ITEM_H

#include <stdbool.h>
#include <stdint.h>

#include "hook/hook.h"

/* Is a run due for the work item, reruns left out? */
bool hook_work_item_due(const struct hook *h, const struct work_item *u, const struct delivery *dl);

/* Could a rerun deliver something, although nothing has changed? */
bool hook_work_item_repeats(const struct hook *h, const struct delivery *dl);

/* Is nothing due for the key, and could a rerun deliver nothing either? */
bool hook_delivery_over(const struct hook *h, const struct delivery *dl);

/* The work item has no event to deliver any more: ends the manual runs that it was to run for, as
 * if its run had succeeded. */
void hook_manual_runs_void(struct hook *h, struct work_item *u);

/* A person who ordered manual runs of the command wants their files applied, too: runs apply for
 * these manual runs, after the files that the command may write now. */
void hook_want_apply(struct hook *h, uint32_t manual_runs);

/* Must the end of the delivered incarnation give way to the next incarnation, because `failures`
 * runs for it have failed in a row, or it is parked (docs/design.md "Superseded deletes")? */
bool hook_gives_way(const struct hook *h, const struct delivery *dl, unsigned failures,
                    bool parked);

/* Nothing is due for the key, and no run is under way. Its rerun counts from its last run, or from
 * now if there was no run, as long as a rerun can deliver anything. */
void hook_rest_delivery(struct hook *h, struct delivery *dl, uint64_t now_ms);

/* A source of the hook has changed, or shows an object for the first time. */
void hook_take(struct hook *h, size_t source, const struct delta *d);

/* A source became stale, or fresh again. */
void hook_note_stale(struct hook *h, size_t source, bool stale, struct now now);

/* Makes a hook that is not in hs->v yet (hooks_add()). */
struct hook *hook_create(struct hooks *hs, struct hook_params *params);

/* Frees a hook without runs. */
void hook_free(struct hook *h);

/* The first runs have ended: opens the gate for good, or once the files that they wrote are
 * applied. */
void hook_end_first(struct hook *h);

/* Calls hook_end_first() if no first run is left. */
void hook_check_first(struct hook *h);

#endif
