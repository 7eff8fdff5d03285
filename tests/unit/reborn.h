/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reborn - one hook on the stage whose process dies and is followed by another, which recalls what
 * is on disk; pure.
 */
#ifndef WORK_ITEM_REBORN_H
#define WORK_ITEM_REBORN_H

#include "hook_disk.h"
#include "stage.h"

struct reborn {
    struct hook_disk disk;
    struct hook *hook;
    struct stage_hook params;
};

/* One at a time. */
extern struct reborn reborn;

/* Adds the hook, which nobody knew before. */
void reborn_add(struct stage_hook params);

/* What has changed goes to disk. */
void reborn_keep(void);

/* The process dies; the next one has recalled what is on disk, and no source is synced. */
void reborn_restart(void);

/* As cmocka wants it; stage_set_up() is the other end. */
int reborn_clean_up(void **state);

#endif
