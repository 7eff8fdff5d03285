/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool - idle keep-alive connections of one server; driver without a timer of its own.
 */
#ifndef IO_POOL_H
#define IO_POOL_H

#include <stdint.h>

/* The server closes idle connections after 90 s (docs/kubernetes-protocol.md "Keep-alive"). */
enum { POOL_MAX_IDLE = 4, POOL_MAX_IDLE_MS = 60000 };

struct conn;

struct pool_slot {
    struct conn *conn; /* NULL = free */
    uint64_t since_ms;
};

/* Zero-initialised is empty. Not to be moved. */
struct pool {
    struct pool_slot slots[POOL_MAX_IDLE];
};

/* Takes an open connection that nobody uses and disposes it when it ends or says anything unasked.
 * The oldest one leaves a pool that is full. */
void pool_put(struct pool *p, struct conn *conn, uint64_t now_ms);

/* The connection that was used last, now the caller's; NULL if there is none. It may be about to
 * fail. */
struct conn *pool_take(struct pool *p);

/* The same of those to one server process (conn_peer()). */
struct conn *pool_take_peer(struct pool *p, uint64_t peer);

/* Disposes those that were idle for too long; returns the ms until the next one is, 0 = none is
 * left. */
uint64_t pool_expire(struct pool *p, uint64_t now_ms);

/* Disposes all. */
void pool_clear(struct pool *p);

#endif
