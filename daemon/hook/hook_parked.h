/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hook_parked - the ends (DELETED, LEFT) of objects that are gone whose unit is parked: nothing of
 * their key may ever change again, so they are not kept for ever (docs/design.md "Bounds"); pure.
 * Used by the files of hook alone.
 */
#ifndef HOOK_HOOK_PARKED_H
#define HOOK_HOOK_PARKED_H

#include "hook/hook.h"

/* The unit is parked, by a run that ended at wall_ns (e: its key in mode object, else NULL), or
 * again, as it was in an earlier process (wall_ns 0). */
void hook_parked_note(struct hook *h, struct delivery *dl, uint64_t wall_ns, uint64_t now_ms);

/* Forgets what has been parked for too long, and the oldest of what is too many. Not from inside a
 * run's end. */
void hook_parked_trim(struct hook *h, uint64_t now_ms);

/* When that has something to do though nothing happens; NEVER_MS = never. */
uint64_t hook_parked_wake_ms(const struct hook *h);

#endif
