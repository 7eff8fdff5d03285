/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source - what hooks and readers look at under one name: what a watch holds, or a view; pure.
 * Whoever does not care which of them it is asks here.
 */
#ifndef CACHE_SOURCE_H
#define CACHE_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

struct store;
struct view;
struct watch;

/* A handle, passed by value; one of the two is NULL. Lives as long as what it points to. */
struct source {
    const struct watch *watch;
    const struct view *view;
};

/* Are they the same watch, or the same view? */
bool source_equal(struct source a, struct source b);

/* The setting's name (of a watch with several names: the first), and the cluster's. */
const char *source_name(struct source c);
/* See above. */
const char *source_cluster(struct source c);

/* What it holds, as people write it: "secrets"; of a view its type. */
const char *source_resource(struct source c);

/* May it be shown to hooks (docs/design.md "Synced")? Stays true. */
bool source_synced(struct source c);

/* Its objects. */
const struct store *source_store(struct source c);

/* A view is as old as the older of its watches, and held if one of them is. */
struct source_status {
    bool synced;
    bool stale;
    bool held;               /* by the guard */
    bool contact;            /* false: there never was one; contact_age_ms is 0 */
    uint64_t contact_age_ms; /* since the last good byte */
};

/* How good it is now. */
struct source_status source_status(struct source c, uint64_t now_ms);

#endif
