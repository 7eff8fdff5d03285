/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conn - a client connection: connects to a host, through an HTTP proxy if there is one, does the
 * TLS handshake, then carries plain bytes both ways; driver.
 *
 * DIALING -> [PROXY_HANDSHAKING -> PROXY_ASKING] -> HANDSHAKING -> OPEN -> CLOSED. Each state before
 * OPEN has a deadline. In OPEN, TCP keepalive 25/5/3 and TCP_USER_TIMEOUT 40 s find a dead peer
 * (docs/kubernetes-protocol.md "Dead connections"). With an https:// proxy there are two layers of
 * TLS: that of the proxy, and inside of it that of the server.
 */
#ifndef IO_CONN_H
#define IO_CONN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

struct conn;
struct loop;
struct proxy;
struct resolver;
struct tls_ctx;
struct tls_session;

/* Bytes that one connection may deliver in one turn of the loop, so that a busy connection does not
 * keep the others waiting. */
#define CONN_BURST_BYTES ((size_t)256 * 1024)

enum conn_state {
    CONN_DIALING,           /* looks the name up and connects: io/dial */
    CONN_PROXY_HANDSHAKING, /* TLS with the proxy */
    CONN_PROXY_ASKING,      /* waits for the proxy's answer to CONNECT */
    CONN_HANDSHAKING,
    CONN_OPEN,
    CONN_CLOSED,
};

/* Everything is borrowed until conn_create() returns, except for the TLS contexts, of which the
 * connection takes references, and the resolver, which must outlive the connection. */
struct conn_params {
    const char *host; /* name or IP literal, without brackets */
    uint16_t port;
    struct resolver *resolver; /* may be NULL if there is no name to look up */
    /* The proxy to go through, which then looks host up; NULL = none. */
    const struct proxy *proxy;
    struct tls_ctx *proxy_tls;        /* for a proxy with https:// */
    struct tls_ctx *tls;              /* NULL = plain TCP */
    const char *server_name;          /* the name that the certificate must have; NULL = host */
    const struct tls_session *resume; /* the session to offer; NULL = none */
    uint64_t peer;                    /* the number of the server process at the other end */
    uint64_t resume_peer;             /* the number of the process that gave the session */
    /* For the lookup, once more for connecting to all addresses, and once more for the proxy's
     * answer to CONNECT. */
    uint64_t connect_timeout_ms;
    uint64_t tls_timeout_ms; /* for each handshake */
    /* Called whenever the server gives a session, from the handshake until conn_dispose(), also
     * after conn_set_events(). The callee owns session. May be NULL. */
    void (*on_session)(void *arg, struct conn *c, struct tls_session *session);
    void *session_arg;
};

/* No callback runs inside a call of the user, and none after conn_dispose(). Each may dispose the
 * connection and its own caller. A callback that is NULL is skipped. */
struct conn_events {
    void (*on_open)(void *arg); /* in state OPEN: conn_write() may be called */
    void (*on_data)(void *arg, const char *data, size_t n); /* n > 0, borrowed */
    /* Comes exactly once, as the last callback. ERR_CLOSED: the peer closed the connection, with or
     * without close_notify. Else ERR_REFUSED, ERR_TIMEOUT, ERR_TLS or ERR_IO. The text begins with
     * HOST:PORT and names the step that failed and the addresses. */
    void (*on_closed)(void *arg, const struct err *err);
};

/* Starts to connect. events must stay valid until conn_dispose() or the next conn_set_events().
 * Never NULL; release with conn_dispose(). */
struct conn *conn_create(struct loop *loop, const struct conn_params *params,
                         const struct conn_events *events, void *arg);

/* Another owner takes over the connection (keep-alive): further callbacks go to events. events NULL
 * = no owner: bytes that arrive are dropped, and if the connection ends, the next owner gets
 * on_closed. */
void conn_set_events(struct conn *c, const struct conn_events *events, void *arg);

/* Sends n bytes, which are copied. In state OPEN or CLOSED; in CLOSED the bytes are dropped. */
void conn_write(struct conn *c, const char *data, size_t n);

/* Inside on_data: the bytes have become n more, which count for CONN_BURST_BYTES like bytes of the
 * server. */
void conn_count(struct conn *c, size_t n);

/* The state. It is CLOSED already while on_closed is still on its way. */
enum conn_state conn_state(const struct conn *c);

/* The last state before CLOSED that the connection has reached: with on_closed() it says which step
 * has failed. */
enum conn_state conn_reached(const struct conn *c);

/* After the end of DIALING: appends for people where the socket leads to: "HOST:PORT (ADDRESS)", or
 * "HOST:PORT (through proxy HOST:PORT)". An address that is the host is left out. */
void conn_put_way(struct buf *out, const struct conn *c);

/* In OPEN, with TLS: appends the peer as tls_put_peer() does. */
void conn_put_peer(struct buf *out, const struct conn *c);

/* The TLS context that the connection was created with; NULL = plain TCP. */
const struct tls_ctx *conn_tls_ctx(const struct conn *c);

/* "HOST:PORT", for messages. */
const char *conn_name(const struct conn *c);

/* From OPEN on: did the server resume the session that was offered? */
bool conn_resumed(const struct conn *c);

/* From OPEN on: the number of the server process. A process that resumed the session is the process
 * that gave it, because ticket keys never leave their process
 * (docs/kubernetes-protocol.md "Server identity"). */
uint64_t conn_peer(const struct conn *c);

/* Notes that the server has said which cluster it serves, on this connection or on another one to
 * the same process. */
void conn_set_identified(struct conn *c);
/* Was conn_set_identified() called? */
bool conn_is_identified(const struct conn *c);

/* The end for the user: *c is NULL, no callback runs any more. An open TLS connection sends
 * close_notify, then the socket is closed; the memory goes in a later turn. NULL is fine. */
void conn_dispose(struct conn **c);

#endif
