/* SPDX-License-Identifier: Apache-2.0 */
/*
 * delivery_rig - a delivery queue with one source. A test looks at one key at a time, and the
 * events that are due for it are written as text: "DELETED u1 ADDED u2"; pure.
 */
#ifndef UNIT_DELIVERY_RIG_H
#define UNIT_DELIVERY_RIG_H

#include "objects.h"

#include "hook/delivery_queue.h"

enum { DELIVERY_RIG_ALL = 0x3f }; /* every event */

/* The rig of the test that runs now. */
struct delivery_rig {
    struct filter filter;
    struct delivery_queue queue;
    struct buf text;
    uint64_t now;
    const char *key; /* the one looked at */
};

extern struct delivery_rig delivery_rig;

/* Makes a queue whose hook takes these events and looks at one path; NULL = every byte counts. The
 * queue is not open yet. */
void delivery_rig_init(unsigned events, const char *path);

/* Frees the queue. */
void delivery_rig_fini(void);

/* The setup of a test with cmocka: an open queue whose hook takes every event. */
int delivery_rig_set_up(void **state);

/* The teardown of a test with cmocka: delivery_rig_fini(). */
int delivery_rig_clean_up(void **state);

/* delivery_rig_fini(), then an open queue with these events. */
void delivery_rig_restart(unsigned events, const char *path);

/* ns/n changes, and is the key looked at from now on. Returns its delivery, NULL if there is
 * none. */
struct delivery *delivery_rig_change(enum delta_type type, const char *uid, const char *data);

/* An object is added, and the hook has handled that. */
void delivery_rig_add_handled(const char *uid, const char *data);

/* u1 was handled, went with this event (DELTA_DELETED, DELTA_LEFT), and u2 has taken its place. */
void delivery_rig_replace(enum delta_type end);

/* A run for the end of an object fails, and the hook gives up on it: the end is superseded. */
void delivery_rig_supersede_end(void);

/* The source becomes stale or fresh, and its empty key is looked at from now on. Returns its
 * delivery. */
struct delivery *delivery_rig_stale(bool stale);

/* The delivery of the key looked at, or NULL. */
struct delivery *delivery_rig_delivery(void);

/* The events that a run would have now, as text; "" = nothing is due. */
const char *delivery_rig_due(void);

/* A run. */
struct delivery_rig_run {
    struct delivery_event ev[2];
    size_t n;
};

/* A run with the first `most` of the events that are due starts. */
struct delivery_rig_run delivery_rig_start(size_t most);

/* The run ends, well or not. */
void delivery_rig_end(struct delivery_rig_run run, bool ok);

/* A run with every event that is due starts and ends. */
void delivery_rig_run(bool ok);

#endif
