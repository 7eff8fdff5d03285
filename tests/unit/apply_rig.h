/* SPDX-License-Identifier: Apache-2.0 */
/* A hook on the stage whose files are applied. */
#ifndef WORK_ITEM_APPLIED_H
#define WORK_ITEM_APPLIED_H

#include "hook_rig.h"

/* A hook with a file per key, or one, and apply. */
struct hook *apply_rig_add(struct hook_rig_hook p);

/* The next run, of one event, which has claimed its file. */
struct run *apply_rig_starts(enum delta_type type, const char *uid);

/* The same of one that is about the whole hook. */
struct run *apply_rig_starts_whole(void);

/* An object is added, and its file written. */
void apply_rig_write_first(const char *key, const char *uid);

/* The next run is that of apply, and succeeds. */
void apply_rig_apply_passes(enum run_reason reason);

/* A hook in mode object whose first runs are over and applied; ns/a is handled, its file is 1. */
struct hook *apply_rig_add_settled(struct hook_rig_hook p);

#endif
