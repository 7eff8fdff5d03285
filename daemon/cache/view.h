/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view - a cache that is computed from watches: service_endpoints joins Services with all their
 * EndpointSlices (or Endpoints), one object per Service (docs/design.md "Views"); pure.
 *
 * It is fed like a hook: each delta of its two watches goes in, and is only noted. view_tick()
 * joins what was touched and sends what really differs from what it sent before, so a burst of
 * changes, or a list that is committed, is one change. While a watch lists anew, nothing goes out:
 * else a new Service would be seen without its slices only because those are listed a moment later.
 * A watch that cannot do so becomes stale, and then the view goes on with what it has, and is
 * stale.
 *
 *   watches --delta--> view --> view_join   who belongs to whom, what has changed
 *                                 view_make   the object of one Service:
 *                                   view_pick   kube-proxy's rules
 *                                   view_hold   hold_empty
 *                                   view_object the bytes
 *                                 store       what differs -> delta
 *
 * Object: kind ServiceEndpoints of informerd/v1; key, uid, RV and generation are the Service's. RV
 * and generation stand in "service" only and are not compared, so equal content is equal bytes.
 */
#ifndef CACHE_VIEW_H
#define CACHE_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "cache/watch.h"

/* Everything is copied; the watches must outlive the view. */
struct view_params {
    const char *name;
    struct watch *services;
    struct watch *slices;  /* of endpointslices or of endpoints, each read by its own rules */
    const char *node_name; /* "" = not known, nothing is local */
    bool local_only;
    uint64_t hold_empty_ms; /* 0 = nothing is held */
};

/* What `type` calls this kind of view. */
#define VIEW_TYPE "service_endpoints"

/* Watches that a view is made of. */
enum { VIEW_WATCHES = 2 };

struct view;

/* The consumer's side, as watch_events. Both run inside view_tick() only. */
struct view_events {
    /* The view has changed. It is not synced yet while it is filled for the first time. */
    void (*on_delta)(void *arg, struct view *v, const struct delta *d);
    /* The view became stale, or fresh again. */
    void (*on_stale)(void *arg, struct view *v, bool stale, uint64_t wall_ns);
};

/* Can a view be made of these? ERR_CONFIG: a watch is of another resource than it must be, or does
 * not keep what a view reads; they are of two clusters; local_only on a node without a name. Needs
 * nothing of the watches but how they are configured. err must not be NULL. */
enum err_kind view_check(const struct view_params *params, struct err *err) MUST_CHECK;

/* Takes in what the watches hold already. params must have passed view_check(); events must outlive
 * the view. Never NULL. */
struct view *view_create(const struct view_params *params, const struct view_events *events,
                         void *arg);

/* Frees it and sets *v to NULL; nothing is sent. NULL is fine. */
void view_destroy(struct view **v);

/* A watch of the view is empty, as it is another cluster's by now: the view begins anew, and is not synced.
 * Nobody is told. Other watches are none of its business. */
void view_forget(struct view *v, const struct watch *w);

/* A delta of any watch: noted if it is one of this view's. */
void view_delta(struct view *v, const struct watch *w, const struct delta *d);

/* It was given what its watches had in an earlier process, and neither is followed yet: tells of
 * that, so that it is known what vanishes now. It is not synced by it; one that is synced tells
 * nothing. */
void view_restored(struct view *v, struct list_watch_now now);

/* Looks at its watches and the clock: to be called when something was fed to a watch, when one
 * became stale or fresh, and at the time (ms) that it returned last; UINT64_MAX = only then. Cheap
 * if nothing has happened. */
uint64_t view_tick(struct view *v, struct list_watch_now now);

/* The setting's name, and the cluster's. */
const char *view_name(const struct view *v);
/* See above. */
const char *view_cluster(const struct view *v);

/* Are all its watches synced, and was that joined? Stays true. */
bool view_synced(const struct view *v);

/* Is a watch of it stale, as of the last tick? */
bool view_stale(const struct view *v);

/* Its watches: 0 <= i < VIEW_WATCHES. */
const struct watch *view_watch(const struct view *v, size_t i);

/* What it holds. */
const struct store *view_store(const struct view *v);

#endif
