/* SPDX-License-Identifier: Apache-2.0 */
/*
 * state_driver_sync - syncs commits to the disk, so that they survive a power cut after a second:
 * one sync at a time, in a worker thread; driver. Used by state_driver alone.
 */
#ifndef IO_STATE_DRIVER_SYNC_H
#define IO_STATE_DRIVER_SYNC_H

#include <stdbool.h>

#include "base/err.h"
#include "state/folder.h"

struct state_driver_sync;
struct loop;

/* A sync has ended; err NULL = it succeeded. Called on a stack of its own. */
typedef void state_driver_sync_cb(void *arg, const struct err *err);

/* folder must outlive the last sync. Never NULL; release with state_driver_sync_dispose(). */
struct state_driver_sync *state_driver_sync_create(struct loop *loop, const struct folder *folder,
                                                   state_driver_sync_cb *cb, void *arg);

/* To be called after a commit: a sync follows within a second. wal_pages: pages of the log that are
 * not in the file yet; with many of them the sync makes a checkpoint, too. */
void state_driver_sync_note(struct state_driver_sync *d, unsigned wal_pages);

/* Drops the commits that are left to sync, because the file is given up or is being closed. No sync may
 * be under way. */
void state_driver_sync_forget(struct state_driver_sync *d);

/* Whether a sync is under way. If so, cb will be called at its end. */
bool state_driver_sync_is_busy(const struct state_driver_sync *d);

/* The end for the user: *d is NULL, cb is never called again. NULL is fine. */
void state_driver_sync_dispose(struct state_driver_sync **d);

#endif
