/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server_identity - which server processes have said which cluster they serve, when the next
 * question may be sent, and what its answer says (docs/design.md "Cluster identity"); pure, for
 * io/api_client.
 *
 * A certificate and an address prove nothing: an API server over another or a restored etcd keeps
 * both. A resumed TLS session proves that the same process answers, because a process makes its
 * ticket keys anew at each start. So an answer holds for the connection on which it came, and, for
 * SERVER_IDENTITY_MS, for connections that resume a session of that process. The time is limited
 * because a proxy may share its ticket keys among servers
 * (docs/decisions.md "A cluster's identity holds for a server process").
 *
 * "peer" is the number of a server process; a connection without a resumed session gets a new one.
 */
#ifndef IO_SERVER_IDENTITY_H
#define IO_SERVER_IDENTITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "cache/api_error.h"
#include "kube/cluster_identity.h"

/* How long an answer holds for new connections to the process that gave it. */
#define SERVER_IDENTITY_MS ((uint64_t)10 * 60 * 1000)

/* From one question to the next: however many scopes reconnect at once, a server is asked once a
 * second. */
#define SERVER_IDENTITY_INTERVAL_MS ((uint64_t)1000)

/* If the question fails for so long, the cluster is known by the keys of its CA. */
#define SERVER_IDENTITY_PATIENCE_MS ((uint64_t)5000)

/* A server of several that has not answered by then lags behind: it waits for its cache to reach
 * etcd's revision, for 3 s (docs/kubernetes-protocol.md "Several servers"). Another one is asked. */
#define SERVER_IDENTITY_LAG_MS ((uint64_t)3000)

/* After that no request has to wait for an answer for so long. */
#define SERVER_IDENTITY_MUTE_MS ((uint64_t)60 * 1000)

/* Server processes whose answers are remembered; the oldest entry makes room. If one is forgotten,
 * the process is only asked once more. */
enum { SERVER_IDENTITY_PEERS = 16 };

struct server_identity_peer {
    uint64_t peer;  /* 0 = free */
    uint64_t at_ms; /* when it answered last */
    /* Of etcd, in that answer; "" = not known. */
    char revision[CLUSTER_IDENTITY_REVISION_MAX + 1];
};

/* Zero-initialised except for interval_ms and is_known: no server was asked yet. Release with
 * server_identity_fini(). */
struct server_identity {
    uint64_t interval_ms; /* from one question to the next: SERVER_IDENTITY_INTERVAL_MS */
    struct server_identity_peer peers[SERVER_IDENTITY_PEERS];
    size_t next;            /* the oldest entry of peers, which is overwritten next */
    uint64_t last_peer;     /* the number given out last */
    size_t asked_server;    /* the server that was asked last */
    uint64_t asked_ms;      /* when it was asked */
    uint64_t earliest_ms;   /* when it may be asked again */
    uint64_t failing_ms;    /* since when questions have failed; 0 = the last one was answered */
    uint64_t mute_until_ms; /* the servers do not tell: no request waits for an answer before */
    /* Some server has answered, or the cluster is known from before: from now on requests of any kind
     * wait for an answer. */
    bool is_known;
    struct api_error api_error; /* status and error body of the answer that is coming */
    struct buf body;            /* of an answer with status 200 */
};

/* Frees the part of an answer that has come. */
void server_identity_fini(struct server_identity *v);

/* A number, never 0, for the process behind a new connection. */
uint64_t server_identity_new_peer(struct server_identity *v);

/* Must the process be asked before a request is sent on a new connection to it? follows: the
 * request is a watch, or goes on as one, and always needs an answer. Other requests need one only
 * after the first answer of any server, because the lists of a first start must not wait
 * (docs/decisions.md "A cold start lists first and asks for the cluster then"). */
bool server_identity_must_ask(const struct server_identity *v, uint64_t peer, bool follows,
                              uint64_t now_ms);

/* How long to wait before the next question to a server, in ms; 0 = it may be sent now. */
uint64_t server_identity_wait_ms(const struct server_identity *v, size_t server, uint64_t now_ms);

/* A question (CLUSTER_IDENTITY_TARGET) is sent to a server now: the next one to it comes after
 * interval_ms. If the answer to the last one has not ended, it will not come. */
void server_identity_asked(struct server_identity *v, size_t server, uint64_t now_ms);

/* The head of the answer to the question. */
void server_identity_head(struct server_identity *v, const struct http_head *head);
/* A piece of its body. */
void server_identity_body(struct server_identity *v, const char *data, size_t n);

enum server_identity_outcome {
    /* The server has answered, or refuses for good (cluster_identity_is_secret()). */
    SERVER_IDENTITY_TOLD,
    /* Questions have failed for SERVER_IDENTITY_PATIENCE_MS: the servers count as ones that do not
     * tell, and server_identity_must_ask() is false for SERVER_IDENTITY_MUTE_MS. */
    SERVER_IDENTITY_MUTE,
    SERVER_IDENTITY_FAILED, /* there may be an answer later */
};

struct server_identity_reply {
    struct cluster_identity_answer answer;
    int status;     /* 0 = MUTE */
    struct err err; /* of FAILED */
};

/* The question is over: err NULL = its answer is complete, else there is none. A server that is
 * busy, or wants another credential, may still tell: that is no failure of the question, and the
 * next one comes after the Retry-After at the earliest. is_last: no other server is left that may
 * tell; else the outcome is not MUTE. */
enum server_identity_outcome server_identity_end(struct server_identity *v, const struct err *err,
                                                 bool is_last, uint64_t now_ms,
                                                 struct server_identity_reply *out) MUST_CHECK;

/* The process has answered that it serves the right cluster, and that its etcd has this revision
 * now ("" = not known). */
void server_identity_answered(struct server_identity *v, uint64_t peer, const char *revision,
                              uint64_t now_ms);

/* The revision in the last answer of the process; "" = the process gave none, or is not
 * remembered. */
const char *server_identity_revision(const struct server_identity *v, uint64_t peer);

/* When the process answered last (ms of loop_now_ms()); 0 = the process is not remembered. */
uint64_t server_identity_answered_ms(const struct server_identity *v, uint64_t peer);

/* A server turned out to be of another cluster: all answers are forgotten, so that each process is
 * asked again before the next request on a new connection to it. */
void server_identity_forget_all(struct server_identity *v);

#endif
