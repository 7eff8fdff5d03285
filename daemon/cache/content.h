/* SPDX-License-Identifier: Apache-2.0 */
/*
 * content - what hooks and readers look at under one name: what a watch holds, or a view; pure.
 * Whoever does not care which of them it is asks here.
 */
#ifndef CACHE_CONTENT_H
#define CACHE_CONTENT_H

#include <stdbool.h>
#include <stdint.h>

struct store;
struct view;
struct watch;

/* A handle, passed by value; one of the two is NULL. Lives as long as what it points to. */
struct content {
    const struct watch *watch;
    const struct view *view;
};

/* Are they the same watch, or the same view? */
bool content_equal(struct content a, struct content b);

/* The setting's name (of a watch with several names: the first), and the cluster's. */
const char *content_name(struct content c);
/* See above. */
const char *content_cluster(struct content c);

/* What it holds, as people write it: "secrets"; of a view its type. */
const char *content_resource(struct content c);

/* May it be shown to hooks (DESIGN 1.4.1)? Stays true. */
bool content_synced(struct content c);

/* Its objects. */
const struct store *content_store(struct content c);

/* A view is as old as the older of its watches, and held if one of them is. */
struct content_status {
    bool synced;
    bool stale;
    bool held;               /* by the guard */
    bool contact;            /* false: there never was one; contact_age_ms is 0 */
    uint64_t contact_age_ms; /* since the last good byte */
};

/* How good it is now. */
struct content_status content_status(struct content c, uint64_t now_ms);

#endif
