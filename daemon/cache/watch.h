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
#include "cache/store.h"
#include "kube/resource.h"

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
    size_t object_size;
    struct reflector_params reflector;
    uint64_t seed;
};

struct watch;

/* The consumer's side. Both run inside feed_body() or feed_end() of one of the feeds. */
struct watch_events {
    void (*on_delta)(void *arg, struct watch *w, const struct delta *d);
};

/* ERR_CONFIG: the resource is not known, or namespaces do not fit its scope. events must outlive the watch. */
enum err_kind watch_create(const struct watch_params *params, const struct watch_events *events,
                           void *arg, struct watch **out, struct err *err) MUST_CHECK;

/* Frees it and sets *w to NULL; no delta is sent. NULL is fine. */
void watch_destroy(struct watch **w);

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

/* Were all its streams listed once? Stays true (DESIGN 1.4.1). */
bool watch_synced(const struct watch *w);

/* All streams together: the worst state, the oldest contact. */
struct watch_status {
    const char *state; /* listing | watching | backoff | forbidden | waiting (DESIGN 1.7) */
    bool synced;
    bool stale;              /* synced once, and a stream is lost for STALE_AFTER_MS */
    bool contact;            /* false: there never was one; contact_age_ms is 0 */
    uint64_t contact_age_ms; /* since the last good byte; of an established stream too */
    const char *rv;          /* of the first stream */
    uint64_t relists;        /* lists after the first one */
    uint64_t events;
    uint64_t skipped;
    const struct err *err; /* kind OK = none */
};

/* Borrowed strings: until the next call on one of its feeds. */
struct watch_status watch_status(const struct watch *w, uint64_t now_ms);

#endif
