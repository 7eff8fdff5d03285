/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cluster_identity_driver - asks the servers of a cluster which cluster they serve
 * (api_client_identify()), until one has answered (docs/design.md "Cluster identity"); driver.
 */
#ifndef IO_CLUSTER_IDENTITY_DRIVER_H
#define IO_CLUSTER_IDENTITY_DRIVER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/backoff.h"

struct api_client;
struct cluster_identity_driver;
struct loop;

/* Copied; loop and client must outlive the driver. */
struct cluster_identity_driver_params {
    struct loop *loop;
    struct api_client *client; /* with its credentials */
    struct backoff_params retry;
    uint64_t start_jitter_ms; /* the first question comes after a random time up to this */
    uint64_t seed;            /* of that time and the jitter of retry */
    bool is_awaited;          /* watches wait for the answer: failures are warnings in the log */
};

/* The callbacks run on the stack of a callback of the loop, never inside a call of the user; each
 * may dispose the driver. */
struct cluster_identity_driver_events {
    /* A server has answered, and judge() of the API client has decided about the answer, whatever
     * it decided. Comes once, as the last callback. */
    void (*on_answered)(void *arg);
    /* The server said 401: the owner may have a newer credential
     * (docs/kubernetes-protocol.md "Bearer tokens"). The driver asks again after the backoff. */
    void (*on_unauthorized)(void *arg);
};

/* Asks after the jitter, and again with the pauses of retry while the network or the server fails.
 * events must outlive the driver. Never NULL; release with cluster_identity_driver_dispose(). */
struct cluster_identity_driver *
cluster_identity_driver_create(const struct cluster_identity_driver_params *params,
                               const struct cluster_identity_driver_events *events, void *arg);

/* Why the last try failed, as a text for people; NULL = no try has failed yet. Valid until the loop
 * goes on. */
const char *cluster_identity_driver_trouble(const struct cluster_identity_driver *d);

/* The API client has other credentials. If the last try failed because of the old ones, the next
 * one comes at once. */
void cluster_identity_driver_reauthenticate(struct cluster_identity_driver *d);

/* The end for the user: *d is NULL, no callback comes any more. Must come before the API client is
 * disposed. NULL is fine. */
void cluster_identity_driver_dispose(struct cluster_identity_driver **d);

#endif
