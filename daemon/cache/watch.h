/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch - one configured watch: a resource with its selectors, the store that holds its objects,
 * and one list_watch for each scope (namespaces times names); pure.
 */
#ifndef CACHE_WATCH_H
#define CACHE_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cache/list_watch.h"
#include "cache/resume_point.h"
#include "cache/source_status.h"
#include "cache/store.h"
#include "cache/subscriber.h"
#include "cache/watch_params.h"
#include "cache/watch_status.h"
#include "kube/resource.h"

struct audit;
struct confirm;

struct watch;

/* ERR_CONFIG: the resource is not written as one, namespaces do not fit it, or a path or selector
 * is wrong. A resource that only discovery can find leaves the watch without list_watches until
 * watch_resolve(). */
enum err_kind watch_create(const struct watch_params *params, struct watch **out,
                           struct err *err) MUST_CHECK;

/* Frees it and sets *w to NULL; no callback runs. NULL is fine. */
void watch_destroy(struct watch **w);

/* The watch shares this limit with others, which must outlive it. Once, before the first list_watch
 * starts; without it there is no limit. */
void watch_limit_memory(struct watch *w, struct memory_limit *memory);

/* Adds a subscriber. on_delta and on_skipped run inside list_watch_body(), list_watch_end(),
 * list_watch_identified(), list_watch_compare_end() or a call on the watch's confirm; on_stale
 * inside watch_tick() and watch_begin_stale(); on_restored inside watch_restore(). */
void watch_subscribe(struct watch *w, const struct subscriber *to, void *arg);

/* Ends that subscription. Neither of the two inside a callback of the watch. */
void watch_unsubscribe(struct watch *w, const struct subscriber *to, const void *arg);

/* The resource that discovery must find; NULL = the watch has its list_watches. */
const struct resource *watch_wants(const struct watch *w);

/* Discovery has found the resource (copied): makes the list_watches; if they exist and the resource
 * is served under another version now, orders lists of that version. ERR_CONFIG: namespaces do not
 * fit the resource; the status says so, too, as long as there are no list_watches. */
enum err_kind watch_resolve(struct watch *w, const struct resource *found,
                            struct err *err) MUST_CHECK;

/* The resource, as far as it is known. */
const struct resource *watch_target(const struct watch *w);

/* Did discovery choose the version of the resource, and does the server not know it any more (404)?
 * Then it is worth asking discovery again. */
bool watch_is_lost(const struct watch *w);

/* Discovery has failed so far: the status says why. */
void watch_unresolved(struct watch *w, const struct err *why);

/* The setting's name. */
const char *watch_name(const struct watch *w);
/* The name of the cluster. */
const char *watch_cluster(const struct watch *w);
/* The resource as people write it. */
const char *watch_resource(const struct watch *w);

/* How many list_watches there are: one for each scope, or 0 before the resource is known. */
size_t watch_list_watch_count(const struct watch *w);
/* The list_watch of scope i: 0 <= i < watch_list_watch_count(). */
struct list_watch *watch_list_watch(const struct watch *w, size_t i);

/* How many scopes there are; they are known before the resource is. */
size_t watch_scope_count(const struct watch *w);

/* Appends a lasting name of the scope: the one that list_watch_scope_name() returns. */
void watch_put_scope_name(const struct watch *w, size_t scope, struct buf *out);

/* The scope that selects namespace and name of an object; the first one if none does. */
size_t watch_scope_of(const struct watch *w, const struct object *o);

/* Takes a reference to an object that an earlier process has had, before the first list_watch
 * starts; no callback runs. It goes to scope watch_scope_of(), where a list finds out whether it
 * has LEFT. */
void watch_load(struct watch *w, struct object *o);

/* Takes the record of an object that an earlier process has skipped, with a scope of this watch
 * (copied). If only the object's name is left, and is loaded after this, the watch resumes all the
 * same: a list would not tell more. */
void watch_load_skip(struct watch *w, const struct skip *s);

/* Takes the resume point that an earlier process has left of a scope (copied), after objects and
 * skip records, before the first list_watch starts. */
void watch_resume(struct watch *w, size_t scope, const struct resume_point *resume);

/* A reload: w, which is new, takes objects, skips and resume points of the watch whose place it takes.
 * With edited settings the first list decides, as after a restart, which objects are DELETED or LEFT.
 * Subscribers of `from` know the objects, so w does not show them. If `from` is synced and no server
 * answers, w begins stale. */
void watch_inherit(struct watch *w, const struct watch *from, struct now now);

/* Shows all objects that were loaded to the subscribers (on_restored), as if they had just been
 * added. Once, before the first list_watch starts. */
void watch_restore(struct watch *w, struct now now);

/* Forgets all that an earlier process has left and that the list_watches have read, because the
 * cluster is another one now; no callback runs. A first list is ordered; if the list_watches have
 * started, the driver carries it out (list_watch_is_ordered()). */
void watch_forget(struct watch *w);

/* The resume point that the scope still rests on: OVER = none any more, NONE = nothing was left. */
enum resume_kind watch_resume_point(const struct watch *w, size_t scope);

/* How much was left of the scope at first; never OVER. */
enum resume_kind watch_resume_left(const struct watch *w, size_t scope);

/* When the earlier process last heard of the server, as in struct resume_point; of the scope where
 * that is longest ago. */
uint64_t watch_resume_contact_ns(const struct watch *w);

/* The version from which another process may go on, with exactly the objects that on_delta has told:
 * keep both at once. Borrowed until the next call on the list_watch. False: the version that was
 * kept before stays valid. An empty *rv: only the objects are valid, because deletes are being
 * confirmed, a list is held, or the version is in doubt. */
bool watch_version(const struct watch *w, size_t scope, const char **rv,
                   const char **collection_rv);

/* The store with its objects. */
const struct store *watch_store(const struct watch *w);

/* Calls fn for each object as deltas have told it: with those whose DELETED waits for
 * confirm_deletes, and without loaded ones that watch_restore() has not shown yet. */
void watch_each(const struct watch *w, void (*fn)(void *arg, struct object *o), void *arg);

/* Its comparison with the server; never NULL. */
struct audit *watch_audit(const struct watch *w);
/* Its confirmation of deletes; NULL = confirm_deletes is off. */
struct confirm *watch_confirm(const struct watch *w);

/* No server answers: the objects that an earlier process has left are the watch's content now, and
 * stale until all scopes have caught up (or the guard holds the list that would let them). Runs
 * on_stale. The watch stays synced; later differences are told as ever. False, and nothing has
 * happened: not all of these objects are there, or other settings have selected them. The
 * list_watches may have started or not. age_ms: since the earlier process last heard of the
 * server. */
bool watch_begin_stale(struct watch *w, struct now now, uint64_t age_ms) MUST_CHECK;

/* Were all scopes listed once, or has the watch begun stale? Stays true
 * (docs/design.md "Synced"). */
bool watch_synced(const struct watch *w);

/* Were all scopes listed, and is no scope being listed anew? A list that the guard holds does not
 * count. */
bool watch_settled(const struct watch *w);

/* Is it stale, as on_stale has told last? */
bool watch_stale(const struct watch *w);

/* May records for the comparison with a list (watch_audit()) take memory now? */
bool watch_may_compare(const struct watch *w);

/* Does limits.memory keep objects out of one of its scopes (docs/design.md "Memory")? */
bool watch_incomplete(const struct watch *w);

/* Orders a list of all scopes at once; the driver carries it out (list_watch_is_ordered()). */
void watch_relist(struct watch *w, enum relist_reason why);

/* A person decides about the lists that the guard holds (docs/design.md "Guard"). False: no list is
 * held. */
bool watch_guard(struct watch *w, bool accept);

/* Looks at the clock: runs on_stale when the watch became stale or fresh, and orders a list
 * (list_watch_is_ordered()) of scopes whose last list had an item without a readable name. Returns
 * when (ms) to look again, UINT64_MAX = not before its scopes change. */
uint64_t watch_tick(struct watch *w, struct now now);

/* The part of its status that each input of a hook has: it is made for each run. */
struct source_status watch_source_status(const struct watch *w, uint64_t now_ms);

/* All of its status. Its strings are borrowed until the next call on one of its list_watches. */
struct watch_status watch_status(const struct watch *w, uint64_t now_ms);

#endif
