/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server_address - where the requests to one cluster go, and the values that are the same in all of
 * them: host, port, path prefix, user agent, bearer token; pure bookkeeping.
 */
#ifndef IO_SERVER_ADDRESS_H
#define IO_SERVER_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>

struct http_request;
struct url;

/* The texts belong to it. */
struct server_address {
    char *host;
    char *prefix;          /* in front of every path; may be "" */
    char *host_header;     /* HOST[:PORT], IPv6 in brackets */
    char *tls_server_name; /* NULL = host */
    char *user_agent;
    char *token; /* secret; NULL = none */
    uint16_t port;
    bool tls;
};

/* Copies all texts; there is no token yet. tls_server_name NULL or "" = the host of url. Release
 * with server_address_fini(). */
void server_address_init(struct server_address *o, const struct url *url,
                         const char *tls_server_name, const char *user_agent);

/* Sets the bearer token of requests from now on; copied; NULL = none. The token before it is
 * wiped. */
void server_address_set_token(struct server_address *o, const char *token);

/* Fills *out with a GET of the prefix and target. *path is a new text for the caller to free when
 * the request has been sent; everything else in *out is borrowed from o and the arguments. */
void server_address_fill(const struct server_address *o, const char *target, const char *accept,
                         char **path, struct http_request *out);

/* Wipes the token and frees all texts. */
void server_address_fini(struct server_address *o);

#endif
