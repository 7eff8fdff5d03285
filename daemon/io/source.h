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

/* They run on the stack of a callback of the loop, never inside a call of the user, one at a time
 * and as the last thing: each may dispose the source. */
struct source_events {
    /* Bytes came and deltas may have run; feed_status() is else what it was. Comes for each piece
     * of a response: do little. */
    void (*on_data)(void *arg);
    /* The same, and a list may be complete, a state may be another. */
    void (*on_change)(void *arg);
    /* The same, and a request failed for this reason: the feed waits, then tries again. */
    void (*on_failed)(void *arg, enum err_kind why);
};

/* Starts the feed in the next turn of the loop. events must outlive the source. Never NULL. */
struct source *source_create(const struct source_params *params, const struct source_events *events,
                             void *arg);

/* Carries out what was ordered of the feed (feed_is_ordered()), if anything was. */
void source_poke(struct source *s);

/* The right cluster answers again: a feed that waits because another one did tries at once. */
void source_retry(struct source *s);

/* The end for the user: *s is NULL, its request is dropped, no event comes any more. NULL is
 * fine. */
void source_dispose(struct source **s);

#endif
