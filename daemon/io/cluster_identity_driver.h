/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cluster_identity_driver - asks the servers of a cluster which cluster it is (api_client_identify()), until one has
 * answered; driver.
 */
#ifndef IO_CLUSTER_IDENTITY_DRIVER_H
#define IO_CLUSTER_IDENTITY_DRIVER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/backoff.h"

struct api_client;
struct cluster_identity_driver;
struct loop;

/* Borrowed; loop and cluster must outlive the object. */
struct cluster_identity_driver_params {
    struct loop *loop;
    struct api_client *client; /* with its credentials */
    struct backoff_params retry;
    uint64_t start_jitter_ms; /* before the first question: at random up to this */
    uint64_t seed;
    bool is_awaited; /* people are told what keeps it from being known: something waits for it */
};

/* They run on the stack of a callback of the loop; either may dispose the object. */
struct cluster_identity_driver_events {
    /* Once, and nothing comes after it: the judge of the cluster was called. */
    void (*on_answered)(void *arg);
    /* The server said 401: is there a newer credential? It is asked again.
     * docs/kubernetes-protocol.md "Bearer tokens". */
    void (*on_unauthorized)(void *arg);
};

/* Asks after the jitter, again and again with the pauses of retry while the network or the
 * server fails. Never NULL. events must outlive it. */
struct cluster_identity_driver *
cluster_identity_driver_create(const struct cluster_identity_driver_params *params,
                               const struct cluster_identity_driver_events *events, void *arg);

/* What kept the last try from an answer, for people; NULL = none has failed yet. Valid until the loop
 * goes on. */
const char *cluster_identity_driver_trouble(const struct cluster_identity_driver *d);

/* The end for the user: *i is NULL, no event comes any more. Before the cluster's. NULL is fine. */
void cluster_identity_driver_dispose(struct cluster_identity_driver **d);

#endif
