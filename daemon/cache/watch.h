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

#include "cache/feed.h"
#include "cache/guard.h"
#include "cache/store.h"
#include "kube/resource.h"

struct audit;
struct confirm;

/* Everything is copied. */
struct watch_params {
    const char *name;
    const char *cluster;
    const char *resource;          /* as resource_parse() takes it */
    const char *const *namespaces; /* none, or "*" alone = all (cluster-scoped: none) */
    size_t namespace_count;
    const char *const *names; /* none = all */
    size_t name_count;
    const char *label_selector; /* "" = none */
    const char *field_selector;
    struct shape_params shape; /* keep, drop, match */
    size_t object_size;
    struct reflector_params reflector;
    struct guard_params guard;
    uint64_t bookmark_timeout_ms;
    uint64_t list_idle_timeout_ms;
    uint64_t stale_after_ms; /* a stream that is lost for longer makes the watch stale */
    bool confirm_deletes;
    uint64_t seed;
};

struct watch;

/* The consumer's side. */
struct watch_events {
    /* The cache has changed: inside feed_body(), feed_end(), or a call on the watch's confirm. */
    void (*on_delta)(void *arg, struct watch *w, const struct delta *d);
    /* The watch became stale, or fresh again: inside watch_tick(). */
    void (*on_stale)(void *arg, struct watch *w, bool stale, uint64_t wall_ns);
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

/* The setting's name, the cluster's, and the resource as people write it. */
const char *watch_name(const struct watch *w);
/* See above. */
const char *watch_cluster(const struct watch *w);
/* See above. */
const char *watch_resource(const struct watch *w);

/* Its streams: 0 <= i < watch_feed_count(). */
size_t watch_feed_count(const struct watch *w);
/* See above. */
struct feed *watch_feed(const struct watch *w, size_t i);

/* What it holds. */
const struct store *watch_store(const struct watch *w);

/* Its comparison with the server (never NULL), and its confirmation of deletes (NULL = off). */
struct audit *watch_audit(const struct watch *w);
/* See above. */
struct confirm *watch_confirm(const struct watch *w);

/* Were all its streams listed once? Stays true (DESIGN 1.4.1). */
bool watch_synced(const struct watch *w);

/* The like, and no stream is listed anew, unless the guard holds that list. */
bool watch_settled(const struct watch *w);

/* As it has told last. */
bool watch_stale(const struct watch *w);

/* Have all streams list anew at once; the driver carries it out (feed_is_ordered()). */
void watch_relist(struct watch *w, enum relist_reason why);

/* A person decides about the lists that the guard holds (DESIGN 1.6). False: none is held. */
bool watch_guard(struct watch *w, bool accept);

/* Looks at the clock: tells when the watch became stale or fresh. Returns when (ms) to look again,
 * UINT64_MAX = not before its streams change. */
uint64_t watch_tick(struct watch *w, struct feed_now now);

/* All streams together: the worst state, the oldest contact. */
struct watch_status {
    const char *state; /* listing | watching | backoff | forbidden | waiting (DESIGN 1.7) */
    bool synced;
    bool stale;              /* synced once, and a stream is lost for stale_after */
    const char *held;        /* why the guard holds a list (guard_reason_name()); NULL = none is */
    size_t held_deletes;     /* that it holds back */
    bool contact;            /* false: there never was one; contact_age_ms is 0 */
    uint64_t contact_age_ms; /* since the last good byte; of an established stream too */
    uint64_t event_ms;       /* when the last event, the last bookmark came; 0 = never */
    uint64_t bookmark_ms;
    const char *rv; /* of the first stream */
    uint64_t relists;
    uint64_t relists_by[RELIST_REASONS];
    uint64_t events;
    uint64_t skipped;
    const struct err *err; /* kind OK = none */
};

/* Borrowed strings: until the next call on one of its feeds. */
struct watch_status watch_status(const struct watch *w, uint64_t now_ms);

#endif
