/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keeper_sync - sees to it that commits survive a power cut within a second: one sync at a time, in a
 * worker; driver. For keeper.c.
 */
#ifndef IO_KEEPER_SYNC_H
#define IO_KEEPER_SYNC_H

#include <stdbool.h>

#include "base/err.h"
#include "state/folder.h"

struct keeper_sync;
struct loop;

/* A sync has ended, err NULL = well. On a stack of its own. */
typedef void keeper_sync_cb(void *arg, const struct err *err);

/* folder must outlive the last sync. Never NULL; release with keeper_sync_dispose(). */
struct keeper_sync *keeper_sync_create(struct loop *loop, const struct folder *folder,
                                       keeper_sync_cb *cb, void *arg);

/* Something was committed; wal_pages of the log are not in the file yet. */
void keeper_sync_note(struct keeper_sync *s, unsigned wal_pages);

/* Nothing is left to sync: the file is given up, or being closed. None may be under way. */
void keeper_sync_forget(struct keeper_sync *s);

/* Is one under way? Then its end will be told. */
bool keeper_sync_is_busy(const struct keeper_sync *s);

/* The end for the user: *s is NULL, cb is never called again. NULL is fine. */
void keeper_sync_dispose(struct keeper_sync **s);

#endif
