/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch_driver - runs one watch: has discovery find its resource, starts a list_watch_driver for
 * each of its scopes, the confirm_driver and the audit_driver, and keeps the time at which the
 * watch becomes stale; driver.
 */
#ifndef IO_WATCH_DRIVER_H
#define IO_WATCH_DRIVER_H

#include <stdbool.h>
#include <stdint.h>

#include "cache/watch.h"

struct discovery_driver;
struct api_client;
struct renewals;
struct watch_driver;
struct loop;

/* Copied; the objects that it points to must outlive the driver. */
struct watch_driver_params {
    struct loop *loop;
    struct api_client *client;
    struct renewals *renewals;                 /* of the client's cluster */
    struct discovery_driver *discovery_driver; /* of the client's cluster */
    struct watch *watch;
    uint64_t audit_ms;  /* from one audit to the next; 0 = only when asked to */
    unsigned page_size; /* of the LISTs of an audit; 0 = no paging */
    uint64_t seed;      /* of the time of the first audit */
};

/* The callbacks run on the stack of a callback of the loop, never inside a call of the user, one at
 * a time and as the last thing that the driver does: each may dispose the driver. */
struct watch_driver_events {
    /* Deltas may have run; the watch may have become synced, stale or fresh. */
    void (*on_progress)(void *arg);
    /* The same, and the server said 401: the owner may have a newer credential
     * (docs/kubernetes-protocol.md "Bearer tokens"). */
    void (*on_unauthorized)(void *arg);
};

/* Begins in the next turn of the loop. events must outlive the driver. Never NULL; release with
 * watch_driver_dispose(). */
struct watch_driver *watch_driver_create(const struct watch_driver_params *params,
                                         const struct watch_driver_events *events, void *arg);

/* Tells all scopes whether the servers can send streaming lists, by the version of the cluster
 * (docs/kubernetes-protocol.md "Streaming lists"). */
void watch_driver_can_stream(struct watch_driver *d, bool can);

/* The credentials have changed: all scopes get another connection without a gap
 * (list_watch_driver_renew()). */
void watch_driver_renew(struct watch_driver *d);

/* The cluster is reached in another way from now on: through this client, with its discovery driver,
 * whatever the way was before. Open watches go on until their places are taken, as with
 * watch_driver_renew(); other requests under way end where they began, and a scope that waits after a
 * failure tries the new way at once. The client before must live until its requests have ended
 * (api_client_retire()), the discovery driver before until this returns. */
void watch_driver_move(struct watch_driver *d, struct api_client *client,
                       struct discovery_driver *discovery_driver, unsigned page_size);

/* Another interval from one audit to the next; 0 = only when asked to. */
void watch_driver_set_audit(struct watch_driver *d, uint64_t audit_ms);

/* The right cluster answers again. Scopes that are held because another cluster had answered try
 * again at once. */
void watch_driver_retry(struct watch_driver *d);

/* The API client has other credentials. Scopes whose last request failed because of the old ones
 * try again at once. */
void watch_driver_reauthenticate(struct watch_driver *d);

/* Carries out the lists that watch_relist() or watch_guard() has ordered. */
void watch_driver_poke(struct watch_driver *d);

/* Compares the watch with the server now, without applying the differences: audit_result() has the
 * outcome. Nothing happens while the resource of the watch is not known. */
void watch_driver_verify(struct watch_driver *d);

/* The end for the user: *d is NULL, requests under way are dropped, no callback comes any more.
 * NULL is fine. */
void watch_driver_dispose(struct watch_driver **d);

#endif
