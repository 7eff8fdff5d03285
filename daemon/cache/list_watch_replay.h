/* SPDX-License-Identifier: Apache-2.0 */
/*
 * list_watch_replay - the calls of a list_watch that only a replay makes, which stands in for the
 * server; pure. They are in list_watch.c.
 */
#ifndef CACHE_LIST_WATCH_REPLAY_H
#define CACHE_LIST_WATCH_REPLAY_H

#include <stdbool.h>
#include <stdint.h>

#include "cache/delta.h"
#include "cache/list_watch.h"

/* Do namespace, name and selectors of the requests select the object, which has all that the server
 * has of it? A replay has no server that applies them. */
bool list_watch_selects(const struct list_watch *lw, const struct object *o);

/* Takes a change of a recording while a watch is established: in place of an event, which cannot
 * tell LEFT, nor how the change was found. The type of as is ADDED or MODIFIED (the store knows
 * which), DELETED or LEFT. The sink may run. */
void list_watch_replay(struct list_watch *lw, struct object *o, struct delta as);

/* The recorded watch became stale, or fresh again: its stream is lost from now on, or is back. */
void list_watch_replay_stale(struct list_watch *lw, bool stale, uint64_t now_ms);

#endif
