/* SPDX-License-Identifier: Apache-2.0 */
/* A hook on the stage whose files are applied. */
#ifndef WORK_ITEM_APPLIED_H
#define WORK_ITEM_APPLIED_H

#include "stage.h"

/* A hook with a file per key, or one, and apply. */
struct hook *applied_add(struct stage_hook p);

/* The next run, of one event, which has claimed its file. */
struct run *applied_starts(enum delta_type type, const char *uid);

/* The same of one that is about the whole hook. */
struct run *applied_starts_whole(void);

/* An object is added, and its file written. */
void applied_write_first(const char *key, const char *uid);

/* The next run is that of apply, and succeeds. */
void applied_apply_passes(enum run_reason reason);

/* A hook in mode object whose first runs are over and applied; ns/a is handled, its file is 1. */
struct hook *applied_add_settled(struct stage_hook p);

#endif
