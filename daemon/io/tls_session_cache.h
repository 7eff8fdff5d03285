/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tls_session_cache - the TLS session that the connections of one server share, and who may shake hands while
 * none is known to work (api_client.h says why); pure bookkeeping.
 */
#ifndef IO_TLS_SESSION_CACHE_H
#define IO_TLS_SESSION_CACHE_H

#include <stdbool.h>
#include <stdint.h>

struct tls_ctx;
struct tls_session;

/* Zero-initialised: no identity yet. */
struct tls_session_cache {
    struct tls_ctx *ctx;       /* whose session it is; counted; NULL = none */
    struct tls_session *saved; /* the newest; NULL = none */
    uint64_t peer;             /* the server process that gave it (conn_peer()) */
    bool proven;               /* the server gave or resumed it since the last doubt */
    bool none;                 /* the server gives no sessions */
    const void *leader;        /* who tries while not proven; NULL = nobody */
};

/* Another identity (NULL = none): what was saved is dropped, who led leads no more. Takes a
 * reference. */
void tls_session_cache_set_ctx(struct tls_session_cache *s, struct tls_ctx *ctx);

/* May who connect now? True may make it the leader, who must report with one of the calls below. */
bool tls_session_cache_enter(struct tls_session_cache *s, const void *who);

/* A connection made with ctx got a session from peer, which this takes. The lead is over. */
void tls_session_cache_keep(struct tls_session_cache *s, const struct tls_ctx *ctx,
                            struct tls_session *got, uint64_t peer);

/* The server resumed the session on a connection made with ctx. The lead is over. */
void tls_session_cache_resumed(struct tls_session_cache *s, const struct tls_ctx *ctx);

/* The leader has heard from the server and got no session: nobody waits for one any more. */
void tls_session_cache_missing(struct tls_session_cache *s, const void *who);

/* who failed or gave up: if it led, the lead is free and the answer true. */
bool tls_session_cache_leave(struct tls_session_cache *s, const void *who);

/* A connection was lost: maybe the server forgot the session. */
void tls_session_cache_doubt(struct tls_session_cache *s);

#endif
