/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch_driver - carries out what one watch wants: discovery of its resource, its sources, confirmation
 * of deletes, audits, and the time at which it becomes stale; driver.
 */
#ifndef IO_WATCH_DRIVER_H
#define IO_WATCH_DRIVER_H

#include <stdbool.h>
#include <stdint.h>

#include "cache/watch.h"

struct discovery_driver;
struct api_client;
struct watch_driver;
struct loop;

/* Borrowed; must outlive the follower. */
struct watch_driver_params {
    struct loop *loop;
    struct api_client *client;
    struct discovery_driver *discovery_driver; /* of that cluster */
    struct watch *watch;
    uint64_t audit_ms;  /* from one audit to the next; 0 = none */
    unsigned page_size; /* of an audit's lists */
    uint64_t seed;
};

/* They run on the stack of a callback of the loop, never inside a call of the user, one at a time
 * and as the last thing: each may dispose the follower. */
struct watch_driver_events {
    void (*on_progress)(void *arg); /* deltas may have run, the watch may be synced or stale */
    /* The same, and the server said 401: is there a newer credential?
     * docs/kubernetes-protocol.md "Bearer tokens". */
    void (*on_unauthorized)(void *arg);
};

/* Begins in the next turn of the loop. events must outlive it. Never NULL. */
struct watch_driver *watch_driver_create(const struct watch_driver_params *params,
                                         const struct watch_driver_events *events, void *arg);

/* The cluster's version is known: can its servers stream lists?
 * docs/kubernetes-protocol.md "Streaming lists". */
void watch_driver_can_stream(struct watch_driver *d, bool can);

/* The right cluster answers again: streams that wait because another one did try at once. */
void watch_driver_retry(struct watch_driver *d);

/* Carries out what was ordered of the watch (watch_relist(), watch_guard()). */
void watch_driver_poke(struct watch_driver *d);

/* Compares the watch with the server now, without applying what is found: see audit_result(). */
void watch_driver_verify(struct watch_driver *d);

/* The end for the user: *f is NULL, no event comes any more. NULL is fine. */
void watch_driver_dispose(struct watch_driver **d);

#endif
