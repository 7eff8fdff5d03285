/* SPDX-License-Identifier: Apache-2.0 */
#include "io/vouch.h"

#include <stdio.h>

uint64_t vouch_new_peer(struct vouch *v)
{
    return ++v->last_peer;
}

bool vouch_must_ask(const struct vouch *v, uint64_t peer, bool follows, uint64_t now_ms)
{
    if (now_ms < v->mute_until_ms || (!follows && !v->is_known))
        return false;
    for (size_t i = 0; i < VOUCH_PEERS; i++)
        if (v->peers[i].peer == peer && peer != 0)
            return now_ms - v->peers[i].at_ms > VOUCH_MS;
    return true;
}

uint64_t vouch_wait_ms(const struct vouch *v, uint64_t now_ms)
{
    return v->earliest_ms > now_ms ? v->earliest_ms - now_ms : 0;
}

void vouch_asked(struct vouch *v, uint64_t now_ms)
{
    v->earliest_ms = now_ms + v->interval_ms;
}

void vouch_for(struct vouch *v, uint64_t peer, const char *revision, uint64_t now_ms)
{
    size_t at = v->next;

    for (size_t i = 0; i < VOUCH_PEERS; i++)
        if (v->peers[i].peer == peer)
            at = i;
    if (at == v->next)
        v->next = (v->next + 1) % VOUCH_PEERS;
    v->peers[at].peer = peer;
    v->peers[at].at_ms = now_ms;
    snprintf(v->peers[at].revision, sizeof(v->peers[at].revision), "%s", revision);
    v->failing_ms = 0;
    v->is_known = true;
}

const char *vouch_revision(const struct vouch *v, uint64_t peer)
{
    for (size_t i = 0; i < VOUCH_PEERS; i++)
        if (v->peers[i].peer == peer && peer != 0)
            return v->peers[i].revision;
    return "";
}

uint64_t vouch_said_ms(const struct vouch *v, uint64_t peer)
{
    for (size_t i = 0; i < VOUCH_PEERS; i++)
        if (v->peers[i].peer == peer && peer != 0)
            return v->peers[i].at_ms;
    return 0;
}

void vouch_for_none(struct vouch *v)
{
    for (size_t i = 0; i < VOUCH_PEERS; i++)
        v->peers[i].peer = 0;
    v->failing_ms = 0;
    v->mute_until_ms = 0;
    v->is_known = true;
}

bool vouch_failed(struct vouch *v, uint64_t asked_ms, uint64_t now_ms)
{
    if (v->failing_ms == 0)
        v->failing_ms = asked_ms;
    if (now_ms - v->failing_ms < VOUCH_PATIENCE_MS)
        return false;
    v->failing_ms = 0;
    v->mute_until_ms = now_ms + VOUCH_MUTE_MS;
    return true;
}

void vouch_excused(struct vouch *v, uint64_t now_ms, uint64_t wait_ms)
{
    v->failing_ms = 0;
    if (v->earliest_ms < now_ms + wait_ms)
        v->earliest_ms = now_ms + wait_ms;
}
