/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resolver - looks up the addresses of names, anew for each connection, and remembers them; driver.
 *
 * Lookups run on the worker threads of libuv (getaddrinfo(3) blocks). All who ask for a name while
 * it is looked up get the answer of that one lookup. If a lookup fails, or takes more than a
 * second, the last known addresses are handed out
 * (docs/decisions.md "The last known addresses of a name stand in for a slow or failing resolver").
 * libuv lets lookups have half of its threads at most, so the writers of the state, which use the
 * other half, never wait for a resolver (loop_start_workers()).
 */
#ifndef IO_RESOLVER_H
#define IO_RESOLVER_H

#include <stdbool.h>

#include "base/err.h"
#include "base/list.h"
#include "proto/address.h"

struct loop;
struct resolver;

/* One who waits for the addresses of a name; embedded in the object that asks. */
struct resolver_wait {
    struct list link; /* on no list = nobody waits */
    /* Runs once, from the loop, unless resolver_cancel() comes first. addresses: borrowed, at least
     * one; NULL = there are none, and *err says why (ERR_IO). Must not dispose the resolver. */
    void (*found)(struct resolver_wait *w, const struct addresses *addresses,
                  const struct err *err);
};

/* Nothing is known. Never NULL; release with resolver_dispose(). */
struct resolver *resolver_create(struct loop *loop);

/* Initialises w; needed before resolver_find() and resolver_cancel(). */
void resolver_wait_init(struct resolver_wait *w,
                        void (*found)(struct resolver_wait *w, const struct addresses *addresses,
                                      const struct err *err));

/* Calls w->found with the addresses of name, which is copied and remembered until
 * resolver_dispose(): names come from the configuration, so they are few. */
void resolver_find(struct resolver *r, const char *name, struct resolver_wait *w);

/* w->found does not run any more. The lookup goes on, for others and as the last known answer. Does
 * nothing if nobody waits. */
void resolver_cancel(struct resolver_wait *w);

/* Notes whether a connection to an address of name worked. Addresses that failed lately are tried
 * last (proto/address_race). Does nothing if name, or this address of it, is not known. */
void resolver_note(struct resolver *r, const char *name, const struct address *to, bool worked);

/* The end for the user: *r is NULL. Nobody may wait any more. Lookups that a thread works on end by
 * themselves. NULL is fine. */
void resolver_dispose(struct resolver **r);

#endif
