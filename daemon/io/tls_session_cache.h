/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tls_session_cache - the TLS session that all connections to one server share, and, while no
 * session is known to work, which single request may connect (the leader; api_client.h gives the
 * reason); pure bookkeeping.
 */
#ifndef IO_TLS_SESSION_CACHE_H
#define IO_TLS_SESSION_CACHE_H

#include <stdbool.h>
#include <stdint.h>

struct tls_ctx;
struct tls_session;

/* Zero-initialised: no TLS context yet. */
struct tls_session_cache {
    struct tls_ctx *ctx;       /* the session belongs to it; counted; NULL = none yet */
    struct tls_session *saved; /* the newest session; NULL = none */
    uint64_t peer;             /* the server process that gave it (conn_peer()) */
    bool proven;               /* the server gave or resumed it since tls_session_cache_doubt() */
    bool none;                 /* the server gives no sessions */
    const void *leader;        /* the request that connects while not proven; NULL = none */
};

/* Connections use another TLS context from now on (NULL = none): the saved session is dropped, and
 * the leader leads no more. Takes a reference of ctx. */
void tls_session_cache_set_ctx(struct tls_session_cache *s, struct tls_ctx *ctx);

/* True: the request `who` may connect now. If it is the leader from then on, it must report with
 * one of the calls below. */
bool tls_session_cache_enter(struct tls_session_cache *s, const void *who);

/* A connection made with ctx got a session from the server process peer. The session is the cache's
 * from now on; one of another context is freed. The lead is over. */
void tls_session_cache_keep(struct tls_session_cache *s, const struct tls_ctx *ctx,
                            struct tls_session *got, uint64_t peer);

/* The server resumed the session on a connection made with ctx. The lead is over. */
void tls_session_cache_resumed(struct tls_session_cache *s, const struct tls_ctx *ctx);

/* The request `who` has got no session, and the server would have given one by now. If the request
 * is the leader, the server counts as one that gives no sessions: the lead is over and no request
 * waits for a session any more. */
void tls_session_cache_missing(struct tls_session_cache *s, const void *who);

/* The request `who` has failed or is over. True: it was the leader, and another request may lead
 * now. */
bool tls_session_cache_leave(struct tls_session_cache *s, const void *who);

/* A connection was lost: the server may have been started anew and know the session no more. The
 * session is offered again, by one leader. */
void tls_session_cache_doubt(struct tls_session_cache *s);

#endif
