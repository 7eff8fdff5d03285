/* SPDX-License-Identifier: Apache-2.0 */
/*
 * follower - carries out what one watch wants: discovery of its resource, its sources, confirmation
 * of deletes, audits, and the time at which it becomes stale; driver.
 */
#ifndef IO_FOLLOWER_H
#define IO_FOLLOWER_H

#include <stdbool.h>
#include <stdint.h>

#include "cache/watch.h"

struct apis;
struct cluster;
struct follower;
struct loop;

/* Borrowed; must outlive the follower. */
struct follower_params {
    struct loop *loop;
    struct cluster *cluster;
    struct apis *apis; /* of that cluster */
    struct watch *watch;
    uint64_t audit_ms;  /* from one audit to the next; 0 = none */
    unsigned page_size; /* of an audit's lists */
    uint64_t seed;
};

/* They run on the stack of a callback of the loop, never inside a call of the user, one at a time
 * and as the last thing: each may dispose the follower. */
struct follower_events {
    void (*on_progress)(void *arg); /* deltas may have run, the watch may be synced or stale */
    /* The same, and the server said 401: is there a newer credential (PROTOCOL 2.4)? */
    void (*on_unauthorized)(void *arg);
};

/* Begins in the next turn of the loop. events must outlive it. Never NULL. */
struct follower *follower_create(const struct follower_params *params,
                                 const struct follower_events *events, void *arg);

/* The cluster's version is known: can its servers stream lists (PROTOCOL 1.4)? */
void follower_can_stream(struct follower *f, bool can);

/* The right cluster answers again: streams that wait because another one did try at once. */
void follower_retry(struct follower *f);

/* Carries out what was ordered of the watch (watch_relist(), watch_guard()). */
void follower_poke(struct follower *f);

/* Compares the watch with the server now, without applying what is found: see audit_result(). */
void follower_verify(struct follower *f);

/* The end for the user: *f is NULL, no event comes any more. NULL is fine. */
void follower_dispose(struct follower **f);

#endif
