/* SPDX-License-Identifier: Apache-2.0 */
/*
 * discovery_driver - what the API server of one cluster serves: finds the resources that watches name, and
 * goes on looking for those that are not there yet; driver. Names that are asked for together share
 * one discovery. What it brought serves for later names, too; one that is not in it makes it look
 * again, but not before retry.initial_ms have passed since the last time.
 */
#ifndef IO_DISCOVERY_DRIVER_H
#define IO_DISCOVERY_DRIVER_H

#include <stdint.h>

#include "base/backoff.h"
#include "base/err.h"
#include "kube/resource.h"
#include "kube/version.h"

struct discovery_driver;
struct api_client;
struct loop;

/* Borrowed; loop and cluster must outlive the object. */
struct discovery_driver_params {
    struct loop *loop;
    struct api_client *client; /* with its credentials */
    struct backoff_params retry;
    uint64_t seed;
};

/* They run on the stack of a callback of the loop, one in each turn; either may call anything here,
 * discovery_driver_dispose() too. */
struct discovery_driver_events {
    /* The last event for who. found is borrowed: copy what is kept. Its kind is NULL and its scope
     * RESOURCE_SCOPE_UNKNOWN if the server refuses discovery (401, 403, 404) and the name is written
     * NAME.VERSION.GROUP. */
    void (*on_found)(void *who, const struct resource *found);
    /* Not found (ERR_NOT_FOUND), or why it is not known; ERR_UNAUTHORIZED: is there a newer
     * credential? Looked for again in retry_ms, for ever; comes each time. */
    void (*on_missing)(void *who, const struct err *err, uint64_t retry_ms);
};

/* v NULL = not known: the server did not tell. */
typedef void discovery_driver_version_cb(void *arg, const struct version *v);

/* Knows nothing and asks nothing yet. Never NULL. */
struct discovery_driver *discovery_driver_create(const struct discovery_driver_params *params);

/* Looks for what resource_parse() gave (copied): at once in what is known, else by asking the
 * server. who asks for one name at a time: another one takes the place of the first. events must
 * outlive the want. */
void discovery_driver_resolve(struct discovery_driver *d, const struct resource *want,
                              const struct discovery_driver_events *events, void *who);

/* No event comes for who any more. Nothing happens if none was to come. */
void discovery_driver_forget(struct discovery_driver *d, const void *who);

/* What is known may be wrong (a LIST was answered with 404): the next name asks the server again.
 * Call it no more often than the backoff of the list. */
void discovery_driver_refresh(struct discovery_driver *d);

/* Asks for the server's version, the first time that it works in the life of the object. cb comes
 * exactly once, in a later turn; a second call before that takes the place of the first. */
void discovery_driver_version(struct discovery_driver *d, discovery_driver_version_cb *cb,
                              void *arg);

/* The end for the user: *a is NULL, nothing is called any more. Before the cluster's. NULL is
 * fine. */
void discovery_driver_dispose(struct discovery_driver **d);

#endif
