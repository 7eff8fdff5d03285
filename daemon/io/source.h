/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source - carries out what one feed wants: requests to its cluster, waits, bytes back; driver. It
 * decides nothing but what is worth a log line.
 */
#ifndef IO_SOURCE_H
#define IO_SOURCE_H

#include "cache/feed.h"
#include "cache/watch.h"

struct cluster;
struct loop;
struct source;

/* Borrowed; must outlive the source. */
struct source_params {
    struct loop *loop;
    struct cluster *cluster;
    struct watch *watch; /* the feed's, for logs */
    struct feed *feed;
};

/* Both run on the stack of a callback of the loop, never inside source_create(). */
struct source_events {
    void (*on_progress)(void *arg);     /* deltas may have run, a first list may be complete */
    void (*on_unauthorized)(void *arg); /* 401: is there a newer credential (PROTOCOL 2.4)? */
};

/* Starts the feed in the next turn of the loop. events must outlive the source. Never NULL. */
struct source *source_create(const struct source_params *params, const struct source_events *events,
                             void *arg);

/* The end for the user: *s is NULL, its request is dropped, no event comes any more. NULL is fine. */
void source_dispose(struct source **s);

#endif
