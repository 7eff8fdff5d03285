/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool - idle keep-alive connections of one server; driver without a timer of its own.
 */
#ifndef IO_POOL_H
#define IO_POOL_H

#include <stdint.h>

/* The server closes idle connections after 90 s (docs/kubernetes-protocol.md "Keep-alive"); 60 s
 * leave a margin, so that a request is seldom sent into a connection that the server is closing. */
enum { POOL_MAX_IDLE = 4, POOL_MAX_IDLE_MS = 60000 };

struct conn;

struct pool_slot {
    struct conn *conn; /* NULL = free */
    uint64_t since_ms; /* when it became idle */
};

/* Zero-initialised is empty. Must not move in memory: idle connections point to their slots. */
struct pool {
    struct pool_slot slots[POOL_MAX_IDLE];
};

/* Takes over an open connection that nobody uses. The pool disposes the connection when it ends, or
 * when the server sends anything on it, as no request is under way. If the pool is full, the
 * connection that has been idle for longest is disposed for this one. */
void pool_put(struct pool *p, struct conn *conn, uint64_t now_ms);

/* Hands the connection that was used last to the caller, who owns it then; NULL if the pool has no
 * open connection. The connection may fail at its first use: the server may be closing it. */
struct conn *pool_take(struct pool *p);

/* The same, among the connections to one server process (conn_peer()). */
struct conn *pool_take_peer(struct pool *p, uint64_t peer);

/* Disposes the connections that have been idle for POOL_MAX_IDLE_MS. Returns after how many ms the
 * next one will be too old; 0 = the pool is empty. */
uint64_t pool_expire(struct pool *p, uint64_t now_ms);

/* Disposes all connections. */
void pool_clear(struct pool *p);

#endif
