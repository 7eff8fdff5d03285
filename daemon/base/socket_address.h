/* SPDX-License-Identifier: Apache-2.0 */
/*
 * socket_address - an IP address with a port, as settings and log lines have it: "127.0.0.1:9916",
 * "[::1]:9916"; pure.
 */
#ifndef BASE_SOCKET_ADDRESS_H
#define BASE_SOCKET_ADDRESS_H

#include <netinet/in.h>
#include <stdbool.h>

#include "base/buf.h"
#include "base/compiler.h"

struct socket_address {
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } to;
    socklen_t size; /* of `to` */
};

/* Reads an address: IPv4, or IPv6 in brackets and without a zone, and behind a colon a port from 0 to
 * 65535. Names are not looked up. False, with *out undefined: the text is none. */
bool socket_address_read(const char *text, struct socket_address *out) MUST_CHECK;

/* Appends the address in the form that socket_address_read() takes. */
void socket_address_put(struct buf *out, const struct socket_address *a);

#endif
