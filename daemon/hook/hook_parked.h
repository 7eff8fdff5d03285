/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hook_parked - gives up parked ends (DELETED, LEFT): an object that is gone may never change
 * again, so its parked end would stay for ever, in memory and on disk (docs/design.md "Bounds");
 * pure. Used by the files of hook/hook alone.
 */
#ifndef HOOK_HOOK_PARKED_H
#define HOOK_HOOK_PARKED_H

#include "hook/hook.h"

/* A work item was parked, by a run that ended at wall_ns, or again because it was parked in an
 * earlier process (wall_ns 0). dl is its delivery in mode object, else NULL. */
void hook_parked_note(struct hook *h, struct delivery *dl, uint64_t wall_ns, uint64_t now_ms);

/* parked_age has changed: the key, if it is parked with an end, is given up when the new one says
 * so. Mode object. */
void hook_parked_follow(struct hook *h, struct delivery *dl);

/* Gives up the ends that have been parked for longer than parked_age, and the oldest ones beyond
 * parked_deletes. Must not be called within hooks_finish(), whose run still points to its
 * deliveries. */
void hook_parked_trim(struct hook *h, uint64_t now_ms);

/* When hook_parked_trim() has work even if nothing happens until then; NEVER_MS = never. In mode
 * object the scheduler wakes up for that by itself. */
uint64_t hook_parked_wake_ms(const struct hook *h);

#endif
