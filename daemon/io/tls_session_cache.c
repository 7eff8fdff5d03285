/* SPDX-License-Identifier: Apache-2.0 */
#include "io/tls_session_cache.h"

#include <stddef.h>

#include "proto/tls.h"

void tls_session_cache_set_ctx(struct tls_session_cache *s, struct tls_ctx *ctx)
{
    /* The reference first: ctx may be the context that is dropped below. */
    struct tls_ctx *held = ctx != NULL ? tls_ctx_ref(ctx) : NULL;

    tls_session_free(&s->saved);
    tls_ctx_unref(&s->ctx);
    *s = (struct tls_session_cache){.ctx = held};
}

bool tls_session_cache_enter(struct tls_session_cache *s, const void *who)
{
    if (s->proven || s->none)
        return true;
    if (s->leader != NULL)
        return false;
    s->leader = who;
    return true;
}

void tls_session_cache_keep(struct tls_session_cache *s, const struct tls_ctx *ctx,
                            struct tls_session *got, uint64_t peer)
{
    /* The certificates were changed while that connection was open. Its session belongs to the old
     * context and cannot be offered with the new one (proto/tls.h). */
    if (ctx != s->ctx) {
        tls_session_free(&got);
        return;
    }
    tls_session_free(&s->saved);
    s->saved = got;
    s->peer = peer;
    s->none = false;
    tls_session_cache_resumed(s, ctx);
}

void tls_session_cache_resumed(struct tls_session_cache *s, const struct tls_ctx *ctx)
{
    if (ctx != s->ctx)
        return;
    s->proven = true;
    s->leader = NULL;
}

void tls_session_cache_missing(struct tls_session_cache *s, const void *who)
{
    /* A late report of a request that leads no more proves nothing about the server. */
    if (s->leader == who)
        s->none = true;
    tls_session_cache_leave(s, who);
}

bool tls_session_cache_leave(struct tls_session_cache *s, const void *who)
{
    if (s->leader != who)
        return false;
    s->leader = NULL;
    return true;
}

void tls_session_cache_doubt(struct tls_session_cache *s)
{
    s->proven = false;
}
