/* SPDX-License-Identifier: Apache-2.0 */
/*
 * list_watch_driver - carries out what one feed wants: requests to its cluster, waits, bytes back; driver. It
 * decides nothing but what is worth a log line.
 */
#ifndef IO_LIST_WATCH_DRIVER_H
#define IO_LIST_WATCH_DRIVER_H

#include "cache/list_watch.h"
#include "cache/watch.h"

struct api_client;
struct loop;
struct source;

/* Borrowed; must outlive the source. */
struct list_watch_driver_params {
    struct loop *loop;
    struct api_client *client;
    struct watch *watch; /* the feed's, for logs */
    struct list_watch *list_watch;
};

/* They run on the stack of a callback of the loop, never inside a call of the user, one at a time
 * and as the last thing: each may dispose the source. */
struct list_watch_driver_events {
    /* Bytes came and deltas may have run; list_watch_status() is else what it was. Comes for each piece
     * of a response: do little. */
    void (*on_data)(void *arg);
    /* The same, and a list may be complete, a state may be another. */
    void (*on_change)(void *arg);
    /* The same, and a request failed for this reason: the feed waits, then tries again. */
    void (*on_failed)(void *arg, enum err_kind why);
};

/* Starts the feed in the next turn of the loop. events must outlive the source. Never NULL. */
struct source *list_watch_driver_create(const struct list_watch_driver_params *params,
                                        const struct list_watch_driver_events *events, void *arg);

/* Carries out what was ordered of the feed (list_watch_is_ordered()), if anything was. */
void list_watch_driver_poke(struct source *d);

/* The right cluster answers again: a feed that waits because another one did tries at once. */
void list_watch_driver_retry(struct source *d);

/* The end for the user: *s is NULL, its request is dropped, no event comes any more. NULL is
 * fine. */
void list_watch_driver_dispose(struct source **d);

#endif
