/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server_address - where the requests of one cluster go, and what each of them says of itself: address,
 * host, path prefix, user agent, bearer token; pure bookkeeping.
 */
#ifndef IO_SERVER_ADDRESS_H
#define IO_SERVER_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>

struct http_request;
struct url;

/* Texts are owned. */
struct server_address {
    char *host;
    char *prefix; /* of every path */
    char *host_header;
    char *tls_server_name; /* NULL = host */
    char *user_agent;
    char *token; /* secret; NULL = none */
    uint16_t port;
    bool tls;
};

/* Copies. tls_server_name NULL or "" = the host of url. Release with server_address_fini(). */
void server_address_init(struct server_address *o, const struct url *url,
                         const char *tls_server_name, const char *user_agent);

/* The token from now on; copied; NULL = none. The one before is wiped. */
void server_address_set_token(struct server_address *o, const char *token);

/* Fills a GET of a target, whose prefix is put in front: *path is the caller's, to be freed when
 * the request was sent; all else is borrowed. */
void server_address_fill(const struct server_address *o, const char *target, const char *accept,
                         char **path, struct http_request *out);

/* Frees the texts, the token wiped. */
void server_address_fini(struct server_address *o);

#endif
