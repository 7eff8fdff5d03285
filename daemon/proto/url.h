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
    char *prefix;  /* path in front of every request, "" or "/a/b", without a slash at its end */
};

/* Parses http://, https:// or a bare HOST[:PORT] (https, as kubectl takes it), each with an
 * optional path. User names, queries, fragments, zones of IPv6 addresses are refused. *out is the
 * caller's, released with url_fini(); untouched on ERR_CONFIG, whose text shows nothing that may be
 * secret. */
enum err_kind url_parse(const char *text, struct url *out, struct err *err) MUST_CHECK;

/* Frees what url_parse() allocated; *u is zeroed. */
void url_fini(struct url *u);

/* Appends HOST[:PORT] for a Host header or a message; IPv6 in brackets, default ports left out. */
void url_put_host(struct buf *out, const struct url *u);

/* Appends s with everything but RFC 3986's unreserved characters percent-encoded. */
void url_put_escaped(struct buf *out, struct str s);

#endif
