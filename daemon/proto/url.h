/* SPDX-License-Identifier: Apache-2.0 */
/*
 * url - the address of an API server, and percent-encoding; pure.
 */
#ifndef PROTO_URL_H
#define PROTO_URL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

struct url {
    bool tls;      /* https */
    char *host;    /* without brackets; a name may end in a dot */
    uint16_t port; /* 443 or 80 when the text names none */
    char *prefix;  /* path in front of every request: "" or "/a/b", without a slash at the end */
};

/* Parses http://, https:// or a bare HOST[:PORT] (which means https, as for kubectl), each with an
 * optional path. An address with a user name, a query, a fragment or the zone of an IPv6 address is
 * refused. *out is the caller's, released with url_fini(). ERR_CONFIG, with *out unchanged, has a
 * text that shows nothing that may be secret. */
enum err_kind url_parse(const char *text, struct url *out, struct err *err) MUST_CHECK;

/* Frees the strings that url_parse() allocated, and zeroes *u. */
void url_fini(struct url *u);

/* Appends HOST[:PORT] for a Host header or a message: an IPv6 address in brackets, a default port
 * left out. */
void url_put_host(struct buf *out, const struct url *u);

/* Appends s with all bytes percent-encoded except the unreserved characters of RFC 3986. */
void url_put_escaped(struct buf *out, struct str s);

#endif
