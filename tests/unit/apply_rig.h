/* SPDX-License-Identifier: Apache-2.0 */
/* Hooks of hook_rig whose files are applied. */
#ifndef UNIT_APPLY_RIG_H
#define UNIT_APPLY_RIG_H

#include "hook_rig.h"

/* Adds a hook with apply, and with a file per key (mode object) or one file. */
struct hook *apply_rig_add(struct hook_rig_hook p);

/* The run of one event that starts now; it has claimed its file. */
struct run *apply_rig_starts(enum delta_type type, const char *uid);

/* The run about the whole hook that starts now; it has claimed its file. */
struct run *apply_rig_starts_whole(void);

/* An object is added; a run writes its file. */
void apply_rig_write_first(const char *key, const char *uid);

/* The run that starts now is one of apply, and succeeds. */
void apply_rig_apply_passes(enum run_reason reason);

/* A hook in mode object whose first runs have ended and whose files are applied; ns/a is handled,
 * its file is 1. */
struct hook *apply_rig_add_settled(struct hook_rig_hook p);

#endif
