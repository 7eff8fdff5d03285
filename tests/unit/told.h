/* SPDX-License-Identifier: Apache-2.0 */
/*
 * told - a queue with one source that a test looks at one key at a time: what is due is written as
 * text, "DELETED u1 ADDED u2"; pure.
 */
#ifndef WORK_ITEM_TOLD_H
#define WORK_ITEM_TOLD_H

#include "objects.h"

#include "hook/delivery_queue.h"

enum { TOLD_ALL = 0x3f }; /* every event */

/* One at a time. */
struct told {
    struct filter filter;
    struct delivery_queue queue;
    struct buf text;
    uint64_t now;
    const char *key; /* looked at */
};

extern struct told told;

/* A queue whose hook takes these events; path NULL = any byte counts. Not open yet. */
void told_init(unsigned events, const char *path);

/* Frees it. */
void told_fini(void);

/* told_init(TOLD_ALL), opened, and told_fini(), as cmocka wants them. */
int told_set_up(void **state);
/* See above. */
int told_clean_up(void **state);

/* told_fini(), then an open queue with these events. */
void told_restart(unsigned events, const char *path);

/* A change of ns/n, which is then looked at; returns its entry. */
struct delivery *told_change(enum delta_type type, const char *uid, const char *data);

/* The source became stale or fresh; that is then looked at. */
struct delivery *told_stale(bool stale);

/* The entry looked at, or NULL. */
struct delivery *told_entry(void);

/* What the hook would be told now. */
const char *told_due(void);

/* A run. */
struct told_run {
    struct delivery_event ev[2];
    size_t n;
};

/* One with the first `most` events of what is due starts. */
struct told_run told_start(size_t most);

/* It ends. */
void told_end(struct told_run run, bool ok);

/* One with everything that is due starts and ends. */
void told_run(bool ok);

#endif
