/* SPDX-License-Identifier: Apache-2.0 */
#include "io/server_identity.h"

#include <stdio.h>

uint64_t server_identity_new_peer(struct server_identity *v)
{
    return ++v->last_peer;
}

bool server_identity_must_ask(const struct server_identity *v, uint64_t peer, bool follows,
                              uint64_t now_ms)
{
    /* While the servers count as ones that do not tell, requests go on without an answer. */
    if (now_ms < v->mute_until_ms || (!follows && !v->is_known))
        return false;
    for (size_t i = 0; i < SERVER_IDENTITY_PEERS; i++)
        if (v->peers[i].peer == peer && peer != 0)
            return now_ms - v->peers[i].at_ms > SERVER_IDENTITY_MS;
    return true;
}

uint64_t server_identity_wait_ms(const struct server_identity *v, uint64_t now_ms)
{
    return v->earliest_ms > now_ms ? v->earliest_ms - now_ms : 0;
}

void server_identity_asked(struct server_identity *v, uint64_t now_ms)
{
    v->earliest_ms = now_ms + v->interval_ms;
}

void server_identity_answered(struct server_identity *v, uint64_t peer, const char *revision,
                              uint64_t now_ms)
{
    /* A process that is remembered keeps its entry; else the oldest entry makes room. */
    size_t at = v->next;

    for (size_t i = 0; i < SERVER_IDENTITY_PEERS; i++)
        if (v->peers[i].peer == peer)
            at = i;
    if (at == v->next)
        v->next = (v->next + 1) % SERVER_IDENTITY_PEERS;
    v->peers[at].peer = peer;
    v->peers[at].at_ms = now_ms;
    snprintf(v->peers[at].revision, sizeof(v->peers[at].revision), "%s", revision);
    v->failing_ms = 0;
    v->is_known = true;
}

const char *server_identity_revision(const struct server_identity *v, uint64_t peer)
{
    for (size_t i = 0; i < SERVER_IDENTITY_PEERS; i++)
        if (v->peers[i].peer == peer && peer != 0)
            return v->peers[i].revision;
    return "";
}

uint64_t server_identity_answered_ms(const struct server_identity *v, uint64_t peer)
{
    for (size_t i = 0; i < SERVER_IDENTITY_PEERS; i++)
        if (v->peers[i].peer == peer && peer != 0)
            return v->peers[i].at_ms;
    return 0;
}

/* The mute time ends too: the address may lead to other servers now, and these may tell. */
void server_identity_forget_all(struct server_identity *v)
{
    for (size_t i = 0; i < SERVER_IDENTITY_PEERS; i++)
        v->peers[i].peer = 0;
    v->failing_ms = 0;
    v->mute_until_ms = 0;
    v->is_known = true;
}

bool server_identity_failed(struct server_identity *v, uint64_t asked_ms, uint64_t now_ms)
{
    /* The time counts from the first question that failed, so the wait for its answer is
     * included. */
    if (v->failing_ms == 0)
        v->failing_ms = asked_ms;
    if (now_ms - v->failing_ms < SERVER_IDENTITY_PATIENCE_MS)
        return false;
    v->failing_ms = 0;
    v->mute_until_ms = now_ms + SERVER_IDENTITY_MUTE_MS;
    return true;
}

void server_identity_postponed(struct server_identity *v, uint64_t now_ms, uint64_t wait_ms)
{
    v->failing_ms = 0;
    if (v->earliest_ms < now_ms + wait_ms)
        v->earliest_ms = now_ms + wait_ms;
}
