/* SPDX-License-Identifier: Apache-2.0 */
/*
 * addrs - the addresses of a host in the order in which they are tried; pure.
 */
#ifndef IO_ADDRS_H
#define IO_ADDRS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/buf.h"

/* So many addresses of a host are tried; further ones are left out. */
#define ADDRS_MAX 16

struct addrinfo;

/* Zero-initialised is empty. */
struct addrs {
    struct sockaddr_storage at[ADDRS_MAX];
    size_t n;
    size_t tried; /* so many of them, from the first on, were handed out by addrs_next() */
};

/* Adds the address of an IP literal, without brackets; an IPv6 zone (fe80::1%eth0) is fine. False:
 * host is a name, or ADDRS_MAX is reached. */
bool addrs_add_literal(struct addrs *a, const char *host, uint16_t port);

/* Adds the IPv4 and IPv6 addresses that getaddrinfo() found, in its order, each with this port. */
void addrs_add_found(struct addrs *a, const struct addrinfo *found, uint16_t port);

/* The address to try next, or NULL after the last. It belongs to a. */
const struct sockaddr *addrs_next(struct addrs *a);

/* Appends to an error what was tried: with all, " (tried A, B)" and every address so far, else "
 * (B)", the last one. Appends nothing if no address was tried, or if the text would only repeat
 * host. */
void addrs_put_tried(const struct addrs *a, bool all, const char *host, struct buf *out);

#endif
