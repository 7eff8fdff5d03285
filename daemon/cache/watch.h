/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch - one configured watch: a resource with its selectors, the store that holds it, and one
 * feed per stream (namespaces times names); pure.
 */
#ifndef CACHE_WATCH_H
#define CACHE_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cache/list_watch.h"
#include "cache/resume_point.h"
#include "cache/store.h"
#include "cache/watch_params.h"
#include "cache/watch_stats.h"
#include "kube/resource.h"

struct audit;
struct confirm;

struct watch;

/* The consumer's side. */
struct watch_events {
    /* The cache has changed: inside list_watch_body(), list_watch_end(), or a call on the watch's confirm. */
    void (*on_delta)(void *arg, struct watch *w, const struct delta *d);
    /* The watch became stale, or fresh again: inside watch_tick(). */
    void (*on_stale)(void *arg, struct watch *w, bool stale, uint64_t wall_ns);
    /* Just before on_delta, for whoever keeps what the watch has: o is an object of this stream
     * now, or (gone) is none any more, whatever its uid. NULL: nobody does. */
    void (*on_kept)(void *arg, struct watch *w, size_t scope, struct object *o, bool gone);
    /* For the same: an object of a stream is skipped from now on, or (gone) no more. Inside
     * list_watch_body() and list_watch_end(). NULL: nobody keeps it. */
    void (*on_skipped)(void *arg, struct watch *w, const struct skip *s, bool gone);
};

/* ERR_CONFIG: the resource cannot be one, namespaces do not fit its scope, a path or selector is
 * wrong. A resource that only discovery can tell leaves the watch without feeds until
 * watch_resolve(). events must outlive the watch. */
enum err_kind watch_create(const struct watch_params *params, const struct watch_events *events,
                           void *arg, struct watch **out, struct err *err) MUST_CHECK;

/* Frees it and sets *w to NULL; no delta is sent. NULL is fine. */
void watch_destroy(struct watch **w);

/* What it needs discovery for; NULL = nothing, its feeds are there. */
const struct resource *watch_wants(const struct watch *w);

/* Discovery has found the resource (copied): makes the feeds, or, if they are there and the
 * resource is served under another version now, has them list that. ERR_CONFIG: namespaces do not
 * fit its scope; that is then the watch's error, too, as long as it has no feeds. */
enum err_kind watch_resolve(struct watch *w, const struct resource *found,
                            struct err *err) MUST_CHECK;

/* What it watches, as far as it is known. */
const struct resource *watch_target(const struct watch *w);

/* Was the version of its resource chosen by discovery, and does the server not know it any more
 * (404)? Then it is worth asking again. */
bool watch_is_lost(const struct watch *w);

/* Discovery has failed so far: what its status says. */
void watch_unresolved(struct watch *w, const struct err *why);

/* The setting's name. */
const char *watch_name(const struct watch *w);
/* The cluster's. */
const char *watch_cluster(const struct watch *w);
/* The resource as people write it. */
const char *watch_resource(const struct watch *w);

/* Its streams' feeds: 0 <= i < watch_list_watch_count(). */
size_t watch_list_watch_count(const struct watch *w);
/* See above. */
struct list_watch *watch_list_watch(const struct watch *w, size_t i);

/* The same streams, which are known before the resource is. */
size_t watch_scope_count(const struct watch *w);

/* Appends a name of the stream that lasts: what list_watch_scope_name() says. */
void watch_put_scope_name(const struct watch *w, size_t scope, struct buf *out);

/* The stream that selects the namespace and name of an object; none does: the first one. */
size_t watch_scope_of(const struct watch *w, const struct object *o);

/* An object that an earlier process has had (a reference is taken), before the first feed starts:
 * nobody is told. It goes to the stream watch_scope_of() says, to be found to have LEFT if need
 * be. */
void watch_load(struct watch *w, struct object *o);

/* An object that it skipped, in a stream of this watch (copied). If no more than its name is left,
 * which is loaded behind this, the stream goes on all the same: a list would not tell more. */
void watch_load_skip(struct watch *w, const struct skip *s);

/* What it has left of a stream beside them (copied). Behind them, before the first feed starts. */
void watch_resume(struct watch *w, size_t scope, const struct resume_point *resume);

/* Forgets all of that, and all that its feeds have read: it is another cluster's. Nobody is told. A first list
 * is ordered; if the feeds have started, the driver carries it out (list_watch_is_ordered()). */
void watch_forget(struct watch *w);

/* What the stream shows of that: OVER = what is so by now, NONE = nothing. */
enum resume_kind watch_resume_point(const struct watch *w, size_t scope);

/* What there was of it to begin with; never OVER. */
enum resume_kind watch_resume_left(const struct watch *w, size_t scope);

/* When the earlier process last heard of the server: struct resume_point's, of the oldest stream. */
uint64_t watch_resume_contact_ns(const struct watch *w);

/* What another process may go on from, with exactly what on_kept has told: keep both at once.
 * Borrowed until the next call on the feed. False: what is kept stands as it is. An empty rv: only
 * the objects stand, as deletes are being confirmed, a list is held, or the version is in doubt. */
bool watch_version(const struct watch *w, size_t scope, const char **rv,
                   const char **collection_rv);

/* What it holds. */
const struct store *watch_store(const struct watch *w);

/* Its comparison with the server (never NULL), and its confirmation of deletes (NULL = off). */
struct audit *watch_audit(const struct watch *w);
/* See above. */
struct confirm *watch_confirm(const struct watch *w);

/* No server answers: what an earlier process has left is its content now, and stale, until all its
 * streams have caught up (or the guard holds the list that would do that). Tells on_stale. It stays
 * synced; what differs later is told as ever. False, and nothing has happened: not all objects of
 * then are there, or other settings have selected them. Feeds may have started or not. age_ms: since
 * the earlier process last heard of the server. */
bool watch_begin_stale(struct watch *w, struct list_watch_now now, uint64_t age_ms) MUST_CHECK;

/* Were all its streams listed once, or has it begun stale? Stays true (docs/design.md "Synced"). */
bool watch_synced(const struct watch *w);

/* The like, and no stream is listed anew, unless the guard holds that list. */
bool watch_settled(const struct watch *w);

/* As it has told last. */
bool watch_stale(const struct watch *w);

/* Have all streams list anew at once; the driver carries it out (list_watch_is_ordered()). */
void watch_relist(struct watch *w, enum relist_reason why);

/* A person decides about the lists that the guard holds (docs/design.md "Guard"). False: none is
 * held. */
bool watch_guard(struct watch *w, bool accept);

/* Looks at the clock: tells when the watch became stale or fresh, and orders a list (list_watch_is_ordered())
 * of what one with an item without a name has left open. Returns when (ms) to look again,
 * UINT64_MAX = not before its streams change. */
uint64_t watch_tick(struct watch *w, struct list_watch_now now);

/* Borrowed strings: until the next call on one of its feeds. */
struct watch_status watch_status(const struct watch *w, uint64_t now_ms);

#endif
