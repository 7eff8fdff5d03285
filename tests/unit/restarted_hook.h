/* SPDX-License-Identifier: Apache-2.0 */
/*
 * restarted_hook - one hook of hook_rig whose process dies and is followed by another, which
 * restores the rows on disk; pure.
 */
#ifndef UNIT_RESTARTED_HOOK_H
#define UNIT_RESTARTED_HOOK_H

#include "hook_disk.h"
#include "hook_rig.h"

struct restarted_hook {
    struct hook_disk disk;
    struct hook *hook;
    struct hook_rig_hook params;
};

/* The rig of the test that runs now. */
extern struct restarted_hook restarted_hook;

/* Adds the hook, of which nothing is on disk. */
void restarted_hook_add(struct hook_rig_hook params);

/* Puts the rows that have changed to disk. */
void restarted_hook_keep(void);

/* The process dies; the next one has restored the rows on disk, and no source is synced. */
void restarted_hook_restart(void);

/* The teardown of a test with cmocka; its setup is hook_rig_set_up(). */
int restarted_hook_clean_up(void **state);

#endif
