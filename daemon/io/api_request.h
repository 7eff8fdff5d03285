/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_request - the requests of an API client, as the two files that drive them share them.
 * io/api_client chooses servers and sends requests. io/api_question has a server say first which
 * cluster it serves, where a request needs that (docs/design.md "Cluster identity"):
 * io/server_identity says who must be asked and reads the answer. One question is under way at a
 * time, on the connection of a request, and its answer serves all requests that it counts for.
 */
#ifndef IO_API_REQUEST_H
#define IO_API_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/list.h"
#include "base/rate.h"
#include "cache/api_error.h"
#include "io/api_client.h"
#include "io/exchange.h"
#include "io/loop.h"
#include "io/request.h"
#include "io/server_identity.h"
#include "kube/attempts.h"
#include "kube/warnings.h"
#include "proto/http_out.h"

struct api_server;
struct deadline;
struct resolver;

struct api_client {
    struct loop *loop;
    struct api_client_params params; /* not its texts */
    char *name;
    char *user_agent;
    char *headers;          /* as in the parameters */
    struct servers servers; /* to which of them requests go */
    struct api_server **v;  /* servers.n, in the same order */
    struct resolver *resolver;
    struct list requests;        /* all requests that are not disposed */
    void (*on_empty)(void *arg); /* api_client_retire(); NULL = it was not called */
    void *on_empty_arg;
    struct loop_task empty; /* calls on_empty if there is no request */
    struct list waiting;    /* requests in RQ_WAITING, in the order in which they start */
    struct list asking;     /* requests in RQ_ASKING, in the order in which they began to wait */
    struct deadline *ask_timer; /* until the next question may be sent */
    struct server_identity server_identity;
    struct request *asker; /* its connection carries the question; NULL = none is under way */
    unsigned lists;        /* places taken in the list gate */
    uint64_t last_contact_ms;
    struct warnings warnings;  /* of all servers */
    struct loop_task dispatch; /* something changed: looks which waiting requests can start */
};

enum request_state {
    RQ_WAITING,    /* for a place in the list gate, for the leader, or for the next turn */
    RQ_CONNECTING, /* owns a connection that is not open yet */
    /* Waits until the server has said which cluster it is. Owns an open connection, except for an
     * api_client_identify() whose turn has not come. */
    RQ_ASKING,
    RQ_IDENTIFIED, /* the cluster is the right one: the request is sent in the next turn */
    RQ_TALKING,    /* owns a connection and an exchange on it; no head has come */
    RQ_REFUSED,    /* the same, and the head was a 5xx: its body says why */
    RQ_ANSWERED,   /* the same, and the user has got the head */
    RQ_DONE,       /* on_end ran or is on its way */
};

struct request {
    struct api_client *client; /* NULL once either is disposed */
    enum request_state state;
    struct list link; /* in client->requests */
    struct list wait; /* in client->waiting or client->asking */
    const struct request_events *events;
    void *arg;
    char *target;
    char *accept;
    char *post; /* as in request_params */
    bool list;
    bool gated; /* needs a place in the list gate: a LIST or a streaming list */
    uint64_t hard_deadline_ms;
    bool placed;         /* has a place in the list gate */
    bool stream;         /* a streaming list: its connection goes on as the watch */
    bool asks_first;     /* as in request_params */
    bool asks;           /* made by api_client_identify(): has no target */
    bool pinned;         /* made for a certain process: no other server can answer */
    bool identify_first; /* request_params.follows */
    bool served;   /* an answer counted, then the connection was closed: it is not asked again */
    size_t server; /* where it goes; SERVERS_NONE = that is not decided yet */
    struct attempts attempts;                         /* at other servers */
    char revision[CLUSTER_IDENTITY_REVISION_MAX + 1]; /* in the last answer; "" = not known */
    bool lags;                                        /* a server lags behind the request */
    bool unanswered;                                  /* as in request_unanswered() */
    struct api_error refusal;                         /* REFUSED: status and error body */
    uint64_t peer;      /* the server process that is wanted or answers; 0 = any, or not known */
    uint64_t last_peer; /* as in request_params */
    uint64_t last_ms;
    uint64_t asked_ms;       /* ASKING: an answer counts if the question was sent then or later */
    bool follows;            /* waits for the leader and fails with it */
    bool reused;             /* its connection was idle in the pool before */
    bool fresh;              /* takes no idle connection */
    uint64_t authorizations; /* api_server_authorizations() when it was sent */
    uint64_t sent_ns;        /* wall clock */
    struct conn *conn;
    struct exchange *exchange;
    struct rate rate;          /* of the body, while the request has a place */
    struct err failure;        /* for tell_end; ERR_OK = none */
    struct loop_task tell_end; /* calls on_end with failure */
    struct loop_task go_on;    /* IDENTIFIED: sends the request */
};

/* The server that the request goes to, or talks to. */
static inline struct api_server *api_request_server(const struct request *r)
{
    return r->client->v[r->server];
}

/* The number of a server process (conn_peer()) says which server the process is of. */
static inline size_t api_request_server_of_peer(const struct api_client *c, uint64_t peer)
{
    return (size_t)(peer % c->servers.n);
}

/* Changes the state, which takes the request off the waiting lists; the caller puts it on the list
 * of the new state. */
void api_request_enter(struct request *r, enum request_state state);

/* The request starts, or starts anew, as soon as it can, in the next turn at the earliest. */
void api_request_start_later(struct request *r);

/* Sends a request on its open connection: target and accept, json for a POST, and gzip count; the rest
 * is filled in. No callback runs before return. */
void api_request_send(struct request *r, struct http_request request,
                      struct exchange_params params);

/* Sends the request itself on its open connection. */
void api_request_talk(struct request *r);

/* Can the request go to a server that has not failed it, in place of this one? */
bool api_request_has_another(const struct request *r);

/* The server has failed the request. Returns true if the request goes to another server, in the
 * next turn: its connection is gone, and its place in the list gate stays. */
bool api_request_try_another(struct request *r, const struct err *err, enum server_fault fault);

/* The same, and if no other server is left, the request ends in the next turn. */
void api_request_try_another_or_end(struct request *r, const struct err *err,
                                    enum server_fault fault);

/* The same for a failure of the connection: requests that wait for the same server's first
 * connection leave the server, too. */
void api_request_fail(struct request *r, const struct err *err, enum server_fault fault);

/* Ends a request with on_end in the next turn. err of kind OK = the request is complete. */
void api_request_end_later(struct request *r, const struct err *err);

/* ---- io/api_question. */

/* The request has an open connection: it is sent at once, or when the server has said which cluster
 * it serves. */
void api_question_begin(struct request *r);

/* The request waits for the answer which cluster it is. No callback runs before return. */
void api_question_ask(struct request *r);

/* The response to the question that the request had sent is over: err as on_end() of an exchange.
 * reusable: the connection can carry another request. */
void api_question_over(struct request *r, const struct err *err, bool reusable);

/* The request goes away. If it was asking, the next request in line asks. */
void api_question_drop(struct request *r);

/* Sends the next question, if the time for it has come; for the timer of the client. */
void api_question_next(struct api_client *c);

/* The task go_on of a request. */
void api_question_go_on(struct loop_task *task);

#endif
