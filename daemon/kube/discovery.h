/* SPDX-License-Identifier: Apache-2.0 */
/*
 * discovery - finds out which resources names mean on one server: which requests to make, what the
 * answers say, which resource was found or why none was; pure. Discovery goes in rounds:
 * discovery_begin(), discovery_want() for each name, then discovery_next() and discovery_answer(),
 * discovery_refused() or discovery_fail() in turns until there is no next request. Results of a
 * round serve until the next round begins.
 */
#ifndef KUBE_DISCOVERY_H
#define KUBE_DISCOVERY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "kube/resource.h"

/* Largest body of an answer; the driver gives up beyond it. */
#define DISCOVERY_BODY_BYTES ((size_t)16 * 1024 * 1024)

struct discovery;

/* A GET that discovery asks for. */
struct discovery_request {
    const char *target; /* borrowed until the request is answered */
    const char *accept; /* static */
};

/* A discovery that knows nothing yet. Never NULL. */
struct discovery *discovery_create(void);

/* Frees the discovery and sets *d to NULL. NULL is fine. */
void discovery_destroy(struct discovery **d);

/* Begins a new round: forgets everything, the names that were wanted included. */
void discovery_begin(struct discovery *d);

/* Adds a name that this round shall find, at any time before the round is complete. The text of
 * want is copied. On a server without the aggregated form only groups that such a name may be in
 * are asked. */
void discovery_want(struct discovery *d, const struct resource *want);

/* Gives the request to make now, which is to be answered before the next one. False: the round is
 * complete. */
bool discovery_next(struct discovery *d, struct discovery_request *out);

/* Takes the answer to the request: the whole body of a response with status 200. */
void discovery_answer(struct discovery *d, struct str body);

/* The server answered with another status, which means why (kube/status.h). retry_after_s: how long
 * it wants to be left alone; <= 0 = it did not say. */
void discovery_refused(struct discovery *d, const struct err *why, int64_t retry_after_s);

/* The request had no answer: the connection failed, the answer took too long, or it was over
 * DISCOVERY_BODY_BYTES. The round goes on without that document, unless the server itself seems lost:
 * /api, /apis or several group versions have failed, and not because of an answer. */
void discovery_fail(struct discovery *d, const struct err *why);

/* Finds the resource that want means in the documents of this round. ERR_OK: *found is complete, release
 * it with resource_fini(). Where the server refuses discovery (401, 403, 404) and want is written
 * NAME.VERSION.GROUP, *found is want as it is written, without kind and scope. ERR_NOT_FOUND: the server
 * has no such resource, or none that can be listed and watched. ERR_NO_VERB: it has one that can be
 * listed but not watched. ERR_BUSY with code 0: a group that matters was not asked in this round. Any
 * other error: the answer is not known, because the server, or a group that may have the resource, could
 * not be asked; err says why. */
enum err_kind discovery_find(const struct discovery *d, const struct resource *want,
                             struct resource *found, struct err *err) MUST_CHECK;

/* How long the server wants to be left alone after this round, in ms; 0 = it did not say. */
uint64_t discovery_retry_after_ms(const struct discovery *d);

#endif
