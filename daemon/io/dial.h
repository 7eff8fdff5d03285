/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dial - opens a TCP connection to a host: looks the name up (io/resolver) and tries its addresses
 * (proto/address_race), several at a time; driver.
 *
 * RESOLVING -> CONNECTING -> ENDED. Each of the first two has the timeout for itself.
 */
#ifndef IO_DIAL_H
#define IO_DIAL_H

#include <stdint.h>

#include "base/err.h"
#include "proto/address.h"

struct dial;
struct loop;
struct resolver;
struct uv_tcp_s;

/* The text is copied; the loop and the resolver must outlive the object. */
struct dial_params {
    struct loop *loop;
    struct resolver *resolver; /* may be NULL if host is an IP literal */
    const char *host;          /* name or IP literal, without brackets; an IPv6 zone is fine */
    uint16_t port;
    uint64_t timeout_ms; /* for the lookup, and once more for all attempts together */
};

/* Exactly one of the two runs, once, from the loop, and not after dial_dispose(). Each may dispose
 * the object. */
struct dial_events {
    /* The socket belongs to the callee, who ends it with dial_close(); its data member is free to
     * use. to is the address; borrowed. */
    void (*on_connected)(void *arg, struct uv_tcp_s *tcp, const struct address *to);
    /* ERR_REFUSED if an address refused, else ERR_TIMEOUT or ERR_IO. The text begins with the step
     * that failed ("name lookup: ", "connect: ") and names all addresses and why each failed. */
    void (*on_failed)(void *arg, const struct err *err);
};

/* Begins. name is for the log. Never NULL; release with dial_dispose(). */
struct dial *dial_create(const struct dial_params *params, const char *name,
                         const struct dial_events *events, void *arg);

/* The end for the user, at any time: *d is NULL, no callback comes any more, and all sockets but the
 * one that on_connected gave away are closed. NULL is fine. */
void dial_dispose(struct dial **d);

/* Closes a socket of on_connected; its memory goes in a later turn. */
void dial_close(struct uv_tcp_s *tcp);

#endif
