/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view - a cache that is computed from watches: service_endpoints joins Services with all their
 * EndpointSlices (or Endpoints), one object per Service (docs/design.md "Views"); pure.
 *
 * A view subscribes to its two watches as a hook does; each delta is only noted. view_tick() joins the
 * Services that were touched and sends those objects that differ from the last ones sent, so a burst of
 * changes, or a list that is committed, is one change. While a watch lists anew, the view sends nothing:
 * else a new Service would be seen without its slices only because these are listed a moment later. If
 * the watch cannot list, it becomes stale; then the view is stale, too, and goes on with the objects
 * that it has.
 *
 *   watches --delta--> view --> view_join   which slices belong to which Service, which
 *                                           changed, and the object of one Service
 *                                 view_pick   kube-proxy's rules
 *                                 store       the differences -> delta
 *
 * The object has kind ServiceEndpoints of informerd/v1; its key, uid, resourceVersion and
 * generation are the Service's. The last two stand in "service" only and are not compared, so equal
 * content is equal bytes.
 */
#ifndef CACHE_VIEW_H
#define CACHE_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "cache/watch.h"

/* Everything is copied, but the watches must outlive the view. */
struct view_params {
    const char *name;
    struct watch *services;
    struct watch *slices;  /* of endpointslices or of endpoints, each read by its own rules */
    const char *node_name; /* "" = not known, no endpoint is local */
    bool local_only;
    uint64_t hold_empty_ms; /* 0 = no port is held */
};

/* The word for this kind of view in the setting `type`. */
#define VIEW_TYPE "service_endpoints"

/* How many watches a view is made of. */
enum { VIEW_WATCHES = 2 };

struct view;

/* The setting of a view that view_check() finds wrong. */
enum view_setting {
    VIEW_SETTING_NONE,
    VIEW_SETTING_SERVICES,
    VIEW_SETTING_SLICES,
    VIEW_SETTING_LOCAL_ONLY,
};

/* Can a view be made of these watches? NONE: it can. Else *err says why not: a watch is of a resource
 * that the view cannot use, or its keep and drop leave out paths that the view reads; the watches are of
 * two clusters; or local_only is set on a node without a name. Only the settings of the watches
 * count. */
enum view_setting view_check(const struct view_params *params, struct err *err) MUST_CHECK;

/* Takes in the objects that the watches have already, and subscribes to both. params must have
 * passed view_check(). Never NULL. */
struct view *view_create(const struct view_params *params);

/* Adds a subscriber. Its callbacks run inside view_tick(), on_delta also inside view_restored().
 * While the view is filled for the first time it is not synced yet. */
void view_subscribe(struct view *v, const struct subscriber *to, void *arg);

/* Frees it and sets *v to NULL; no callback runs. NULL is fine. */
void view_destroy(struct view **v);

/* w is empty now, because the cluster is another one. If the view is made of w, the view begins
 * anew and is not synced; no callback runs. Other watches are ignored. */
void view_forget(struct view *v, const struct watch *w);

/* The watches were given the objects that an earlier process has left, and none of them follows its
 * server yet: tells of these objects, so that later deletes of them can be told. The view does not
 * become synced by this; a synced view tells nothing. */
void view_restored(struct view *v, struct now now);

/* Joins the changes that were noted, and looks at the watches and the clock. Call it after bytes
 * were fed to a watch, when a watch became stale or fresh, and at the time (ms) that the last call
 * returned; UINT64_MAX = only then. Cheap if nothing has happened. */
uint64_t view_tick(struct view *v, struct now now);

/* The setting's name. */
const char *view_name(const struct view *v);
/* The name of the cluster. */
const char *view_cluster(const struct view *v);

/* Were all its watches synced, and their objects joined? Stays true until view_forget(). */
bool view_synced(const struct view *v);

/* Was one of its watches stale at the last tick? */
bool view_stale(const struct view *v);

/* Does limits.memory keep objects out of one of its watches, or is the view not joined again since? */
bool view_incomplete(const struct view *v);

/* One of its watches: 0 <= i < VIEW_WATCHES. */
const struct watch *view_watch(const struct view *v, size_t i);

/* The store with its objects. */
const struct store *view_store(const struct view *v);

#endif
