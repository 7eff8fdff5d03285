/* SPDX-License-Identifier: Apache-2.0 */
/*
 * restarted_hook - one hook on the stage whose process dies and is followed by another, which recalls what
 * is on disk; pure.
 */
#ifndef WORK_ITEM_REBORN_H
#define WORK_ITEM_REBORN_H

#include "hook_disk.h"
#include "hook_rig.h"

struct restarted_hook {
    struct hook_disk disk;
    struct hook *hook;
    struct hook_rig_hook params;
};

/* One at a time. */
extern struct restarted_hook restarted_hook;

/* Adds the hook, which nobody knew before. */
void restarted_hook_add(struct hook_rig_hook params);

/* What has changed goes to disk. */
void restarted_hook_keep(void);

/* The process dies; the next one has recalled what is on disk, and no source is synced. */
void restarted_hook_restart(void);

/* As cmocka wants it; hook_rig_set_up() is the other end. */
int restarted_hook_clean_up(void **state);

#endif
