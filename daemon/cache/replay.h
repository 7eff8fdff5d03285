/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay - plays recorded objects to one watch, in the place of a server: the list goes through the
 * list_watches of the watch, so that selectors, match, keep and drop work as with a server; pure.
 */
#ifndef CACHE_REPLAY_H
#define CACHE_REPLAY_H

#include <stdbool.h>

#include "base/err.h"
#include "cache/delta.h"
#include "cache/watch.h"
#include "kube/object.h"

struct replay;

/* Nothing was played to the watch yet, which is borrowed, and which nobody else may drive. A
 * resource that only a server knows is taken from example, an object of it; without one the watch
 * gets a kind of its own. Never NULL. */
struct replay *replay_create(struct watch *w, const struct object *example);

/* Frees it, and sets *r to NULL. NULL is fine. */
void replay_destroy(struct replay **r);

/* Could the object be one of a watch of this resource, by its kind and apiVersion? */
bool replay_is_of(const struct resource *r, const struct object *o);

/* An object of the list. The watch takes it if its selectors do, unless it is skipped. */
void replay_item(struct replay *r, struct object *o);

/* The list is complete: the watch is synced. Once. The sink of the watch runs. */
void replay_listed(struct replay *r, struct now now);

/* A change after that. as has type (not STALE or FRESH), cause and final_state_unknown. An object
 * that the selectors do not take has LEFT, or is gone. The sink may run. ERR_PROTOCOL: the watch
 * cannot use the object. */
enum err_kind replay_change(struct replay *r, struct object *o, struct delta as, struct now now,
                            struct err *err) MUST_CHECK;

/* The watch becomes stale, or is fresh again, if its stale_after is 0. Its subscribers hear of
 * it. */
void replay_stale(struct replay *r, bool stale, struct now now);

#endif
