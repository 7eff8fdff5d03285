/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conn - a client connection: resolve, connect to each address in turn, TLS handshake, then plain
 * bytes both ways; driver. RESOLVING -> CONNECTING -> HANDSHAKING -> OPEN -> CLOSED, each with a
 * deadline but OPEN, which has TCP keepalive 25/5/3 and TCP_USER_TIMEOUT 40 s
 * (docs/kubernetes-protocol.md "Dead connections").
 */
#ifndef IO_CONN_H
#define IO_CONN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct addrs;
struct conn;
struct loop;
struct tls_ctx;
struct tls_session;

/* Bytes that one connection may deliver in one turn of the loop, so that a busy one does not keep
 * the others waiting. */
#define CONN_BURST_BYTES ((size_t)256 * 1024)

enum conn_state { CONN_RESOLVING, CONN_CONNECTING, CONN_HANDSHAKING, CONN_OPEN, CONN_CLOSED };

/* Adds the addresses of a name (io/addrs.h), none if there are none: stands in for the system's
 * resolver. */
typedef void conn_resolve_fn(const char *host, uint16_t port, struct addrs *out);

/* Everything is borrowed until conn_create() returns, but for the context, of which the
 * connection takes a reference. */
struct conn_params {
    const char *host; /* name or IP literal, without brackets */
    uint16_t port;
    struct tls_ctx *tls;              /* NULL = plain TCP */
    const char *server_name;          /* name the certificate must have; NULL = host */
    const struct tls_session *resume; /* NULL = none */
    uint64_t peer;                    /* a number for the server process at the other end, .. */
    uint64_t resume_peer;             /* .. and that of the one which gave the session */
    /* For the lookup, and again for all addresses together, each of which gets a share. */
    uint64_t connect_timeout_ms;
    uint64_t tls_timeout_ms;
    conn_resolve_fn *resolve; /* NULL = getaddrinfo() */
    /* Whenever the server gives a session, from the handshake until dispose, whoever owns the
     * connection then; *session is the callee's. May be NULL. */
    void (*on_session)(void *arg, struct conn *c, struct tls_session *session);
    void *session_arg;
};

/* None runs inside a call of the user, none after conn_dispose(). Any may dispose the connection
 * and its own caller. A NULL one is skipped. */
struct conn_events {
    void (*on_open)(void *arg);
    void (*on_data)(void *arg, const char *data, size_t n); /* n > 0, borrowed */
    /* Exactly once, last. ERR_CLOSED: the peer ended it (with or without close_notify);
     * ERR_REFUSED; ERR_TIMEOUT; ERR_TLS; ERR_IO. The text begins with HOST:PORT and names what was
     * being done and the addresses. */
    void (*on_closed)(void *arg, const struct err *err);
};

/* Starts to connect. events must outlive the connection or its next conn_set_events(). Never
 * NULL. */
struct conn *conn_create(struct loop *loop, const struct conn_params *params,
                         const struct conn_events *events, void *arg);

/* Another owner takes over (keep-alive): what comes from now on goes there. NULL events: bytes that
 * arrive are dropped, the end is kept and told to the next owner. */
void conn_set_events(struct conn *c, const struct conn_events *events, void *arg);

/* Sends n bytes, copied. In state OPEN; after the end the bytes are dropped. */
void conn_write(struct conn *c, const char *data, size_t n);

/* Where it is; CLOSED also when on_closed is still on its way. */
enum conn_state conn_state(const struct conn *c);

/* The context it was created with, NULL = plain. */
const struct tls_ctx *conn_tls_ctx(const struct conn *c);

/* "HOST:PORT", for messages. */
const char *conn_name(const struct conn *c);

/* Since OPEN: was the session offered resumed? */
bool conn_resumed(const struct conn *c);

/* Since OPEN: the number of the server process. One that resumed the session is the process that
 * gave it, as its ticket keys never leave it. */
uint64_t conn_peer(const struct conn *c);

/* Notes that the server said on this connection, or on one like it, which cluster it is. */
void conn_set_identified(struct conn *c);
/* Was that noted? */
bool conn_is_identified(const struct conn *c);

/* The end for the user: *c is NULL, says goodbye to the peer, closes; the memory goes in a later
 * turn. NULL is fine. */
void conn_dispose(struct conn **c);

#endif
