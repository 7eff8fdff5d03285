/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hook_work_item - what is due for a unit of a hook: a key in mode object, the whole hook else; pure.
 * Used by the files of hook alone. e is the unit's entry, NULL in modes batch and snapshot.
 */
#ifndef HOOK_HOOK_WORK_ITEM_H
#define HOOK_HOOK_WORK_ITEM_H

#include <stdbool.h>
#include <stdint.h>

#include "hook/hook.h"

/* Is there something for the unit to do, reruns left out? */
bool hook_work_item_due(const struct hook *h, const struct work_item *u, const struct delivery *dl);

/* Could it run again though nothing has changed? */
bool hook_work_item_repeats(const struct hook *h, const struct delivery *dl);

/* Is there nothing that the hook could be told of the key, now or again? */
bool hook_entry_over(const struct hook *h, const struct delivery *dl);

/* The unit has nothing to tell any more: what people want of it is void, which is no failure. */
void hook_manual_runs_void(struct hook *h, struct work_item *u);

/* People want what the hook wrote applied, once more behind what the command may write now. */
void hook_want_apply(struct hook *h, uint32_t manual_runs);

/* Has the end of a life failed so often, failures in all, or is it parked, so that the next life is
 * delivered first (docs/design.md "Superseded deletes")? */
bool hook_gives_way(const struct hook *h, const struct delivery *dl, unsigned failures,
                    bool parked);

/* Nothing of the first runs is left: what they wrote is applied, and the gate open for good. */
void hook_end_first(struct hook *h);

/* hook_end_first() if that is so. */
void hook_check_first(struct hook *h);

#endif
