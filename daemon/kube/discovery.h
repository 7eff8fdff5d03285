/* SPDX-License-Identifier: Apache-2.0 */
/*
 * discovery - finds out what names of resources mean on one server: which requests to make, what
 * their answers say, what is found or why not; pure. In rounds: begin, want, then next and answer
 * (or fail) until there is no next; what a round has brought serves until the next begins.
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

struct discovery_request {
    const char *target; /* borrowed until the request is answered */
    const char *accept; /* static */
};

/* Nothing is known. Never NULL. */
struct discovery *discovery_create(void);

/* Frees it and sets *d to NULL. NULL is fine. */
void discovery_destroy(struct discovery **d);

/* A new round: forgets everything, wants too. */
void discovery_begin(struct discovery *d);

/* This round shall also find want (its text is copied); any time before it is complete. A server
 * without the aggregated form is asked for the groups that matter to somebody only. */
void discovery_want(struct discovery *d, const struct resource *want);

/* The request to make now, to be answered before the next. False: the round is complete. */
bool discovery_next(struct discovery *d, struct discovery_request *out);

/* The answer to the request: HTTP code and whole body; retry_after_s -1 = none. */
void discovery_answer(struct discovery *d, int code, int64_t retry_after_s, struct str body);

/* There was none: the connection failed, it took too long, it was over DISCOVERY_BODY_BYTES. One
 * group that is lost does not end the round; a server that is lost does. */
void discovery_fail(struct discovery *d, const struct err *why);

/* What want means by what is known. ERR_OK: *found is complete, release it with resource_fini();
 * where the server refuses discovery (401, 403, 404) and want is written NAME.VERSION.GROUP, that
 * is taken by its word, without kind and scope. ERR_NOT_FOUND: the server has no such resource, or
 * none that can be listed and watched. ERR_NO_VERB: none that can be watched. ERR_BUSY with code 0: a group that matters was not asked in this round.
 * Else why the answer is not known: the server, or a group that may have it, could not be asked. */
enum err_kind discovery_find(const struct discovery *d, const struct resource *want,
                             struct resource *found, struct err *err) MUST_CHECK;

/* How long the server wants to be left alone after this round; 0 = it did not say. */
uint64_t discovery_retry_after_ms(const struct discovery *d);

#endif
