/* SPDX-License-Identifier: Apache-2.0 */
#include "io/server_identity.h"

#include <stdio.h>

/* The largest answer. Pieces beyond are dropped, so a larger answer ends as one that cannot be
 * parsed. */
#define BODY_BYTES ((size_t)1024 * 1024)

void server_identity_fini(struct server_identity *v)
{
    api_error_reset(&v->api_error);
    buf_free(&v->body);
}

static const struct server_identity_peer *find(const struct server_identity *v, uint64_t peer)
{
    for (size_t i = 0; i < SERVER_IDENTITY_PEERS; i++)
        if (v->peers[i].peer == peer && peer != 0)
            return &v->peers[i];
    return NULL;
}

uint64_t server_identity_new_peer(struct server_identity *v)
{
    return ++v->last_peer;
}

bool server_identity_must_ask(const struct server_identity *v, uint64_t peer, bool follows,
                              uint64_t now_ms)
{
    const struct server_identity_peer *p = find(v, peer);

    /* While the servers count as ones that do not tell, requests go on without an answer. */
    if (now_ms < v->mute_until_ms || (!follows && !v->is_known))
        return false;
    return p == NULL || now_ms - p->at_ms > SERVER_IDENTITY_MS;
}

uint64_t server_identity_wait_ms(const struct server_identity *v, size_t server, uint64_t now_ms)
{
    return v->asked_server == server && v->earliest_ms > now_ms ? v->earliest_ms - now_ms : 0;
}

void server_identity_asked(struct server_identity *v, size_t server, uint64_t now_ms)
{
    server_identity_fini(v);
    v->asked_server = server;
    v->asked_ms = now_ms;
    v->earliest_ms = now_ms + v->interval_ms;
}

void server_identity_head(struct server_identity *v, const struct http_head *head)
{
    api_error_head(&v->api_error, head);
}

/* The rest of an error body, and of an answer that is too large, is dropped. */
void server_identity_body(struct server_identity *v, const char *data, size_t n)
{
    if (v->api_error.code != 200)
        (void)!api_error_body(&v->api_error, data, n);
    else if (v->body.len + n <= BODY_BYTES)
        buf_append(&v->body, data, n);
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
    const struct server_identity_peer *p = find(v, peer);

    return p != NULL ? p->revision : "";
}

uint64_t server_identity_answered_ms(const struct server_identity *v, uint64_t peer)
{
    const struct server_identity_peer *p = find(v, peer);

    return p != NULL ? p->at_ms : 0;
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

/* Have questions failed for SERVER_IDENTITY_PATIENCE_MS
 * (docs/decisions.md "A server that cannot say its cluster is known by its CA")? The time counts
 * from the first question that failed, so the wait for its answer is included. A server that is
 * busy, or wants another credential (401), may still tell, so that time does not count. */
static bool is_mute(struct server_identity *v, enum err_kind kind, bool is_last, uint64_t now_ms)
{
    uint64_t wait_ms = api_error_wait_ms(&v->api_error, 0);

    if (kind == ERR_UNAUTHORIZED || kind == ERR_BUSY) {
        v->failing_ms = 0;
        if (v->earliest_ms < now_ms + wait_ms)
            v->earliest_ms = now_ms + wait_ms;
        return false;
    }
    if (v->failing_ms == 0)
        v->failing_ms = v->asked_ms;
    if (!is_last || now_ms - v->failing_ms < SERVER_IDENTITY_PATIENCE_MS)
        return false;
    v->failing_ms = 0;
    v->mute_until_ms = now_ms + SERVER_IDENTITY_MUTE_MS;
    return true;
}

enum server_identity_outcome server_identity_end(struct server_identity *v, const struct err *err,
                                                 bool is_last, uint64_t now_ms,
                                                 struct server_identity_reply *out)
{
    int status = v->api_error.code;
    struct err why = {0};

    *out = (struct server_identity_reply){.status = status};
    if (err != NULL)
        why = *err;
    else if (status == 200)
        (void)!cluster_identity_read(buf_str(&v->body), &out->answer, &why);
    else if (!cluster_identity_is_secret(status)) /* else: the server will never tell */
        api_error_read(&v->api_error, &why);
    bool mute = why.kind != ERR_OK && is_mute(v, why.kind, is_last, now_ms);
    server_identity_fini(v);
    if (why.kind == ERR_OK)
        return SERVER_IDENTITY_TOLD;
    if (mute) {
        out->status = 0;
        return SERVER_IDENTITY_MUTE;
    }
    if (why.kind == ERR_SERVER || why.kind == ERR_PROTOCOL)
        /* docs/decisions.md "A failed identity question is no failure of the request" */
        why.kind = ERR_BUSY;
    err_wrap(&why, "LIST of namespace kube-system");
    out->err = why;
    return SERVER_IDENTITY_FAILED;
}
