/* SPDX-License-Identifier: Apache-2.0 */
/*
 * delivery_rig - a queue with one source that a test looks at one key at a time: what is due is written as
 * text, "DELETED u1 ADDED u2"; pure.
 */
#ifndef WORK_ITEM_TOLD_H
#define WORK_ITEM_TOLD_H

#include "objects.h"

#include "hook/delivery_queue.h"

enum { DELIVERY_RIG_ALL = 0x3f }; /* every event */

/* One at a time. */
struct delivery_rig {
    struct filter filter;
    struct delivery_queue queue;
    struct buf text;
    uint64_t now;
    const char *key; /* looked at */
};

extern struct delivery_rig delivery_rig;

/* A queue whose hook takes these events; path NULL = any byte counts. Not open yet. */
void delivery_rig_init(unsigned events, const char *path);

/* Frees it. */
void delivery_rig_fini(void);

/* delivery_rig_init(DELIVERY_RIG_ALL), opened, and delivery_rig_fini(), as cmocka wants them. */
int delivery_rig_set_up(void **state);
/* See above. */
int delivery_rig_clean_up(void **state);

/* delivery_rig_fini(), then an open queue with these events. */
void delivery_rig_restart(unsigned events, const char *path);

/* A change of ns/n, which is then looked at; returns its entry. */
struct delivery *delivery_rig_change(enum delta_type type, const char *uid, const char *data);

/* The source became stale or fresh; that is then looked at. */
struct delivery *delivery_rig_stale(bool stale);

/* The entry looked at, or NULL. */
struct delivery *delivery_rig_entry(void);

/* What the hook would be told now. */
const char *delivery_rig_due(void);

/* A run. */
struct delivery_rig_run {
    struct delivery_event ev[2];
    size_t n;
};

/* One with the first `most` events of what is due starts. */
struct delivery_rig_run delivery_rig_start(size_t most);

/* It ends. */
void delivery_rig_end(struct delivery_rig_run run, bool ok);

/* One with everything that is due starts and ends. */
void delivery_rig_run(bool ok);

#endif
