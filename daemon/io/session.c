/* SPDX-License-Identifier: Apache-2.0 */
#include "io/session.h"

#include <stddef.h>

#include "proto/tls.h"

void session_set_ctx(struct session *s, struct tls_ctx *ctx)
{
    struct tls_ctx *held = ctx != NULL ? tls_ctx_ref(ctx) : NULL;

    tls_session_free(&s->saved);
    tls_ctx_unref(&s->ctx);
    *s = (struct session){.ctx = held};
}

bool session_enter(struct session *s, const void *who)
{
    if (s->proven || s->none)
        return true;
    if (s->leader != NULL)
        return false;
    s->leader = who;
    return true;
}

void session_keep(struct session *s, const struct tls_ctx *ctx, struct tls_session *got,
                  uint64_t peer)
{
    if (ctx != s->ctx) {
        tls_session_free(&got);
        return;
    }
    tls_session_free(&s->saved);
    s->saved = got;
    s->peer = peer;
    s->none = false;
    session_resumed(s, ctx);
}

void session_resumed(struct session *s, const struct tls_ctx *ctx)
{
    if (ctx != s->ctx)
        return;
    s->proven = true;
    s->leader = NULL;
}

void session_missing(struct session *s, const void *who)
{
    if (s->leader == who)
        s->none = true;
    session_leave(s, who);
}

bool session_leave(struct session *s, const void *who)
{
    if (s->leader != who)
        return false;
    s->leader = NULL;
    return true;
}

void session_doubt(struct session *s)
{
    s->proven = false;
}
