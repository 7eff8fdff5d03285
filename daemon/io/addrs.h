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

/* What is beyond is not tried. */
#define ADDRS_MAX 16

struct addrinfo;

/* Zero-initialised is empty. */
struct addrs {
    struct sockaddr_storage at[ADDRS_MAX];
    size_t n;
    size_t tried; /* the first of them */
};

/* Adds the address of an IP literal (no brackets, a scope is fine); false if host is a name. */
bool addrs_add_literal(struct addrs *a, const char *host, uint16_t port);

/* Adds what getaddrinfo() found, IPv4 and IPv6. */
void addrs_add_found(struct addrs *a, const struct addrinfo *found, uint16_t port);

/* The address to try next, or NULL after the last. */
const struct sockaddr *addrs_next(struct addrs *a);

/* Appends " (tried A, B)" with all that were tried, or " (B)" with the last one; nothing if that
 * would be just host again. */
void addrs_put_tried(const struct addrs *a, bool all, const char *host, struct buf *out);

#endif
