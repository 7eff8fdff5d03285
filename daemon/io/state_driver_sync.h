/* SPDX-License-Identifier: Apache-2.0 */
/*
 * state_driver_sync - sees to it that commits survive a power cut within a second: one sync at a time, in a
 * worker; driver. For state_driver.c.
 */
#ifndef IO_STATE_DRIVER_SYNC_H
#define IO_STATE_DRIVER_SYNC_H

#include <stdbool.h>

#include "base/err.h"
#include "state/folder.h"

struct state_driver_sync;
struct loop;

/* A sync has ended, err NULL = well. On a stack of its own. */
typedef void state_driver_sync_cb(void *arg, const struct err *err);

/* folder must outlive the last sync. Never NULL; release with state_driver_sync_dispose(). */
struct state_driver_sync *state_driver_sync_create(struct loop *loop, const struct folder *folder,
                                                   state_driver_sync_cb *cb, void *arg);

/* Something was committed; wal_pages of the log are not in the file yet. */
void state_driver_sync_note(struct state_driver_sync *d, unsigned wal_pages);

/* Nothing is left to sync: the file is given up, or being closed. None may be under way. */
void state_driver_sync_forget(struct state_driver_sync *d);

/* Is one under way? Then its end will be told. */
bool state_driver_sync_is_busy(const struct state_driver_sync *d);

/* The end for the user: *s is NULL, cb is never called again. NULL is fine. */
void state_driver_sync_dispose(struct state_driver_sync **d);

#endif
