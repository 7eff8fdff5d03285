/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_server - one API server of a cluster: its address, the credentials for it, its idle
 * connections and the TLS session that they share; driver, for io/api_client.
 *
 * A full TLS handshake costs 2-6 ms of CPU, a resumed one 0.03-1.4 ms (mbedTLS 2.28 and 3.6 with
 * ECDSA certificates, TLS 1.2 and 1.3, measured on one core). So while no session is known to work,
 * one request is the leader: it connects alone, and the others wait. When the leader has a session,
 * the others resume it. If the server gives no sessions, requests no longer wait for one. A lost
 * connection makes a new leader necessary, because ticket keys end with the server process
 * (docs/decisions.md "One connection does the first TLS handshake").
 *
 * "who" is the request on whose behalf a call is made; it is only compared.
 */
#ifndef IO_API_SERVER_H
#define IO_API_SERVER_H

#include <stdbool.h>
#include <stdint.h>

struct api_server;
struct conn;
struct conn_events;
struct exchange;
struct exchange_events;
struct exchange_params;
struct http_request;
struct loop;
struct proxy;
struct resolver;
struct tls_ctx;
struct url;

/* Copied, texts included; the rest is borrowed and must outlive the server. */
struct api_server_params {
    const struct url *url;
    const char *tls_server_name; /* the name in the certificate; NULL or "" = the host of url */
    struct resolver *resolver;
    const struct proxy *proxy; /* on the way to the server; NULL = none */
    struct tls_ctx *proxy_tls; /* the CAs for a proxy with https://; NULL = none */
    uint64_t connect_timeout_ms;
    uint64_t tls_timeout_ms;
    /* A request that api_server_may_connect() made wait may connect now, or lead. Called from the
     * loop and inside calls of the user; must only take a note. */
    void (*on_change)(void *arg);
    void *arg;
};

/* Creates a server without credentials and connections. Never NULL; release with
 * api_server_dispose(). */
struct api_server *api_server_create(struct loop *loop, const struct api_server_params *params);

/* As api_client_set_tls(). */
void api_server_set_tls(struct api_server *s, struct tls_ctx *ctx);

/* As api_client_set_authorization(). */
void api_server_set_authorization(struct api_server *s, const char *value);

/* Changes with each api_server_set_authorization(). */
uint64_t api_server_authorizations(const struct api_server *s);

/* Why no connection can be made now; NULL = one can. */
const char *api_server_obstacle(const struct api_server *s);
/* The same for the way to the server alone. */
const char *api_server_proxy_obstacle(const struct api_server *s);

/* Was the connection made with the present TLS context? */
bool api_server_is_current(const struct api_server *s, const struct conn *conn);

/* HOST[:PORT], for messages. */
const char *api_server_host(const struct api_server *s);

/* Can a server process be recognised on another connection, by a TLS session? */
bool api_server_has_sessions(const struct api_server *s);

/* Returns the idle connection that was used last, whose owner is the caller from then on; NULL =
 * there is none. */
struct conn *api_server_take(struct api_server *s);
/* The same, among the connections to one server process (conn_peer()). */
struct conn *api_server_take_peer(struct api_server *s, uint64_t peer);

/* A response is over: the connection is kept idle if it can carry another request and was made with the
 * present TLS context; else it is disposed. *conn is NULL then. */
void api_server_keep(struct api_server *s, struct conn **conn);

/* Disposes all idle connections. */
void api_server_drop_idle(struct api_server *s);

/* May the request connect now? False: it must wait for the leader. If it is the leader from now on,
 * it must call api_server_leave() when it is over or has failed. */
bool api_server_may_connect(struct api_server *s, const void *who);

/* Connects, and offers the saved session. peer is the number for the server process, if it turns
 * out to be another one than that of the session. events as in conn_create(). Never NULL. */
struct conn *api_server_connect(struct api_server *s, uint64_t peer,
                                const struct conn_events *events, void *arg);

/* The connection that the request made is open. The leader stays the leader: with TLS 1.3 the
 * session is still to come, for a second at most. */
void api_server_opened(struct api_server *s, const struct conn *conn, const void *who);

/* The head of a response came: a server that gives sessions has done so by now. */
void api_server_heard(struct api_server *s, const void *who);

/* The request has failed or is over. True: it was the leader. */
bool api_server_leave(struct api_server *s, const void *who);

/* A connection was lost: the server may know the session no more. */
void api_server_doubt(struct api_server *s);

/* Sends a request on an open connection of this server. host and authorization of the request are
 * filled in, and its target gets the prefix of the URL in front. The authorization goes to https
 * servers only. params and events as in exchange_create(). Never NULL. */
struct exchange *api_server_send(struct api_server *s, struct conn *conn,
                                 struct http_request request, struct exchange_params params,
                                 const struct exchange_events *events, void *arg);

/* The end for the user: *s is NULL, idle connections are gone. Connections that users have are
 * theirs to dispose, before this call. NULL is fine. */
void api_server_dispose(struct api_server **s);

#endif
