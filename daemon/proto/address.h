/* SPDX-License-Identifier: Apache-2.0 */
/*
 * address - the IP addresses of a host, and which of them failed lately; pure.
 */
#ifndef PROTO_ADDRESS_H
#define PROTO_ADDRESS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* So many addresses of a name are known; further ones are left out. */
enum { ADDRESSES_MAX = 64 };

/* An IPv4 or IPv6 address. Its port does not count when addresses are compared. */
struct address {
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } to;
    uint64_t failed_ms; /* when a connection to it failed; 0 = none has, or one worked since */
};

/* The addresses of one host, in the order of the resolver. Zero-initialised is empty. */
struct addresses {
    struct address v[ADDRESSES_MAX];
    size_t n;
};

/* Adds an address that has not failed. Returns false, and adds nothing, if it is there already, is
 * neither IPv4 nor IPv6, or there are ADDRESSES_MAX. */
bool addresses_add(struct addresses *a, const struct sockaddr *to);

/* Takes over from an earlier answer which addresses have failed. */
void addresses_remember(struct addresses *a, const struct addresses *before);

/* Notes when a connection to this address failed; 0 = it worked. Does nothing if the address is not
 * among them. */
void addresses_note(struct addresses *a, const struct address *which, uint64_t failed_ms);

/* Appends the address in its usual form, without port and brackets. */
void address_put(struct buf *out, const struct address *a);

#endif
