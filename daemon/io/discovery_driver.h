/* SPDX-License-Identifier: Apache-2.0 */
/*
 * discovery_driver - finds out which resources the API server of one cluster serves: looks up the
 * names that watches have, and goes on looking for those that the server does not have yet; driver.
 *
 * Names that are wanted at the same time share one round of discovery
 * (docs/kubernetes-protocol.md "Discovery"). The result of a round is used for later names, too. A
 * name that is not in it makes the driver ask again, but not before retry.initial_ms have passed
 * since the last round.
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

/* Copied; loop and client must outlive the driver. */
struct discovery_driver_params {
    struct loop *loop;
    struct api_client *client;   /* with its credentials */
    struct backoff_params retry; /* between rounds, while a name is not found */
    uint64_t seed;               /* of the jitter of retry */
};

/* The callbacks run on the stack of a callback of the loop, one in each turn; each may call any
 * function of this header, discovery_driver_dispose() too. who is the argument of
 * discovery_driver_resolve(). */
struct discovery_driver_events {
    /* The resource was found; no further callback comes for who. found is borrowed during the call.
     * Its kind is NULL and its scope RESOURCE_SCOPE_UNKNOWN if the server refuses discovery (401,
     * 403, 404) and the name is written NAME.VERSION.GROUP: such a name is taken as it is. */
    void (*on_found)(void *who, const struct resource *found);
    /* A round did not find the resource: ERR_NOT_FOUND, or why the answer is not known. After
     * ERR_UNAUTHORIZED the owner may have a newer credential. The next round comes in retry_ms, and
     * so on for ever; on_missing comes after each one that does not find the resource. */
    void (*on_missing)(void *who, const struct err *err, uint64_t retry_ms);
};

/* v is the server's version, borrowed during the call; NULL = the server did not tell it. */
typedef void discovery_driver_version_cb(void *arg, const struct version *v);

/* Sends nothing yet. Never NULL; release with discovery_driver_dispose(). */
struct discovery_driver *discovery_driver_create(const struct discovery_driver_params *params);

/* Looks for the resource want, as resource_parse() gave it (copied): in the result of the last
 * round first, else in a new round. The callbacks come in later turns. who stands for the caller
 * and has one name at a time: a second call replaces the first. events must stay valid until
 * on_found or discovery_driver_forget(). */
void discovery_driver_resolve(struct discovery_driver *d, const struct resource *want,
                              const struct discovery_driver_events *events, void *who);

/* No callback comes for who any more. Nothing happens if who has no name looked for. */
void discovery_driver_forget(struct discovery_driver *d, const void *who);

/* The result of the last round may be out of date, as a LIST was answered with 404: it is
 * forgotten, so that the next name makes the driver ask the server again. To be called no more
 * often than such a LIST is tried, since each call may cost a round. */
void discovery_driver_refresh(struct discovery_driver *d);

/* The API client has other credentials: a round that waits for its time begins as soon as the
 * server and retry.initial_ms allow. */
void discovery_driver_reauthenticate(struct discovery_driver *d);

/* Asks for the server's version. Once the server has told it, later calls get the same version
 * without asking. cb comes exactly once, in a later turn; a second call before that replaces the
 * first. */
void discovery_driver_version(struct discovery_driver *d, discovery_driver_version_cb *cb,
                              void *arg);

/* The end for the user: *d is NULL, no callback comes any more. Must come before the API client is
 * disposed. NULL is fine. */
void discovery_driver_dispose(struct discovery_driver **d);

#endif
