/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server_identity - which server processes have said which cluster they are, and when the next one may be
 * asked (docs/design.md "Cluster identity"); pure bookkeeping for io/api_client.
 *
 * The certificate and the address prove nothing: an API server over another or a restored etcd keeps
 * both. A resumed TLS session does, as a process makes its ticket keys anew at each start. So an answer
 * holds for the connection it came on, and for connections that resume a session of that process, for
 * SERVER_IDENTITY_MS: ticket keys may be shared by a proxy.
 */
#ifndef IO_SERVER_IDENTITY_H
#define IO_SERVER_IDENTITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kube/cluster_identity.h"

/* How long an answer holds for new connections to the process. */
#define SERVER_IDENTITY_MS ((uint64_t)10 * 60 * 1000)

/* From one question to the next: however many streams reconnect, a server is asked once a second. */
#define SERVER_IDENTITY_INTERVAL_MS ((uint64_t)1000)

/* A server that gives no answer for so long is known by its CA, .. */
#define SERVER_IDENTITY_PATIENCE_MS ((uint64_t)5000)

/* .. and is asked again after so long. */
#define SERVER_IDENTITY_MUTE_MS ((uint64_t)60 * 1000)

enum { SERVER_IDENTITY_PEERS = 16 };

/* Zero-initialised but for the first: nobody was asked. */
struct server_identity {
    uint64_t interval_ms; /* from one question to the next: SERVER_IDENTITY_INTERVAL_MS */
    struct {
        uint64_t peer; /* 0 = free */
        uint64_t at_ms;
        char revision[CLUSTER_IDENTITY_REVISION_MAX + 1]; /* of etcd, then */
    } peers[SERVER_IDENTITY_PEERS];
    size_t next; /* the oldest of them */
    uint64_t last_peer;
    uint64_t earliest_ms;   /* of the next question */
    uint64_t failing_ms;    /* since when questions are sent and not answered; 0 = they are */
    uint64_t mute_until_ms; /* no server is asked before */
    bool is_known; /* it was said which cluster it is: requests of any kind wait for it now */
};

/* A number for the process behind a new connection. */
uint64_t server_identity_new_peer(struct server_identity *v);

/* Must the process be asked before a request on a new connection to it? follows: the request goes on as a
 * watch. Others are asked only once the cluster is known: the lists of a first start come first. */
bool server_identity_must_ask(const struct server_identity *v, uint64_t peer, bool follows,
                              uint64_t now_ms);

/* How long to wait before the next question, in ms. */
uint64_t server_identity_wait_ms(const struct server_identity *v, uint64_t now_ms);

/* A question is sent now. */
void server_identity_asked(struct server_identity *v, uint64_t now_ms);

/* The process is the right cluster's, and has said that its etcd has this revision. */
void server_identity_for(struct server_identity *v, uint64_t peer, const char *revision,
                         uint64_t now_ms);

/* The revision that it has said last; "" = it has not. */
const char *server_identity_revision(const struct server_identity *v, uint64_t peer);

/* When it has; 0 = it has not. */
uint64_t server_identity_said_ms(const struct server_identity *v, uint64_t peer);

/* A process of another cluster answered: every connection is asked again. */
void server_identity_for_none(struct server_identity *v);

/* A question that was sent at asked_ms got no answer. True: it has been so for too long, nobody is to be
 * asked for SERVER_IDENTITY_MUTE_MS. */
bool server_identity_failed(struct server_identity *v, uint64_t asked_ms, uint64_t now_ms);

/* The server is busy or wants another credential, which says nothing about whether it answers; it is not
 * asked again for wait_ms at least. */
void server_identity_excused(struct server_identity *v, uint64_t now_ms, uint64_t wait_ms);

#endif
