/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_client - one API server: requests over connections that are kept alive and share one TLS
 * session; driver.
 *
 * Lists wait for a place in the list gate (first come, first served); watches never wait for it.
 * What has a place must bring 64 KiB a minute, else it fails with ERR_TIMEOUT.
 *
 * A full TLS handshake costs 2-6 ms of CPU, a resumed one 0.03-1.4 ms (mbedTLS 2.28 and 3.6 with
 * ECDSA certificates, TLS 1.2 and 1.3, measured on one core). So as long as no session is known to
 * work, one request leads: it connects alone, the others wait. When its session is there they all
 * resume it; if it fails they fail with it, which also spares a server that is down. A server that
 * gives no sessions stops this. A lost connection puts the session in doubt again (ticket keys die
 * with a server).
 */
#ifndef IO_API_CLIENT_H
#define IO_API_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "io/conn.h"
#include "kube/cluster_identity.h"

struct api_client;
struct http_head;
struct loop;
struct request;
struct tls_ctx;
struct url;

/* Copied. */
struct api_client_params {
    const char *name; /* for the log */
    const struct url *url;
    const char *tls_server_name; /* NULL or "" = the host of url */
    const char *user_agent;
    uint64_t connect_timeout_ms;
    uint64_t tls_timeout_ms;
    uint64_t response_timeout_ms;
    uint64_t list_idle_timeout_ms;
    unsigned list_concurrency; /* > 0 */
    conn_resolve_fn *resolve;  /* NULL = the system's */
    /* Is a server that has answered so still the right cluster? False: *err says why not, as
     * ERR_FOREIGN. status: 200, or that of a server that will not tell; 0 = it gives no answer. Called on a
     * stack of the loop; may not dispose requests. NULL: servers are not asked. */
    bool (*judge)(void *arg, const struct api_client_answer *answer, int status, struct err *err);
    void *judge_arg;
    uint64_t question_interval_ms; /* from one question to the next */
};

struct request_params {
    const char *target; /* path and query, escaped, without the prefix of url; copied */
    const char *accept; /* NULL = application/json; copied */
    bool list;          /* takes a place in the list gate and has list_idle_timeout; else a watch */
    bool stream;        /* takes a place in the list gate until request_leave_gate() */
    bool asks_first; /* the server is asked which cluster it is each time, on the same connection */
    bool follows;    /* goes on as a watch: on a connection to a server process that has not said
                         * lately which cluster it is, it is asked first (io/server_identity) */
    /* follows: request_peer() of the request before (0 = there was none), and when that ended. Another process
     * must have said since then which revision its etcd has, and on_identity comes. */
    uint64_t last_peer;
    uint64_t last_ms;
    uint64_t hard_deadline_ms; /* from the head to the end of the body; 0 = none */
};

/* on_identity may be NULL: the server has said that it is of the right cluster, and that its etcd had this
 * revision then ("" = not known); the request is about to be sent. False: the request was disposed.
 *
 * As exchange_events: none runs inside api_client_request(), none after request_dispose(). Any may
 * dispose the request, others and the cluster. on_end comes exactly once and last, NULL = complete
 * response (of any status). */
struct request_events {
    void (*on_head)(void *arg, const struct http_head *head);
    void (*on_body)(void *arg, const char *data, size_t n);
    void (*on_end)(void *arg, const struct err *err);
    bool (*on_identity)(void *arg, const char *revision);
};

/* A server without identity and connections. Never NULL. */
struct api_client *api_client_create(struct loop *loop, const struct api_client_params *params);

/* Trust and client certificate from now on; takes a reference; NULL = none (https requests then
 * fail with ERR_CREDENTIAL). Forgets session and idle connections; requests under way go on with
 * what they began with. */
void api_client_set_tls(struct api_client *c, struct tls_ctx *ctx);

/* Bearer token of requests sent from now on; copied; NULL = none. The one before is wiped. Must
 * hold no control bytes. */
void api_client_set_token(struct api_client *c, const char *token);

/* Starts a GET. A request on a kept-alive connection that ends before the first byte of a response
 * is repeated once on a fresh one. events must outlive the request. Never NULL. */
struct request *api_client_request(struct api_client *c, const struct request_params *params,
                                   const struct request_events *events, void *arg);

/* Asks which cluster it is, and the judge about the answer; on a connection to that server process (0 =
 * any), and ERR_CLOSED if there is none any more. At most once a second: one answer serves all who have
 * waited for it. on_end comes with NULL: it is the right one; ERR_FOREIGN: it is not; else there was no
 * answer. No other event comes but on_identity. */
struct request *api_client_identify(struct api_client *c, uint64_t peer,
                                    const struct request_events *events, void *arg);

/* The server process that answered, or answers (conn_peer()), for api_client_identify(); 0 = none yet, or one
 * that nothing but its connection could tell, which it has closed. */
uint64_t request_peer(const struct request *r);

/* The initial events of a stream are there: what is left of it is a watch, others may list. */
void request_leave_gate(struct request *r);

/* Has it reached a server that could have answered, by TLS one of the cluster? */
bool request_was_sent(const struct request *r);

/* The end for the user, at any time: *r is NULL; an unfinished request loses its connection. NULL
 * is fine. */
void request_dispose(struct request **r);

/* When (loop_now_ms) part of a response came last; 0 = never. */
uint64_t api_client_last_contact_ms(const struct api_client *c);

/* Connections that were opened so far, and how many of them resumed a TLS session. */
struct api_client_stats {
    uint64_t connections;
    uint64_t resumed;
};

/* What happened since api_client_create(). */
struct api_client_stats api_client_stats(const struct api_client *c);

/* The name it was created with. */
const char *api_client_name(const struct api_client *c);

/* The end for the user: *c is NULL. Requests that still exist fall silent and must be disposed by
 * their owners, before or after. NULL is fine. */
void api_client_dispose(struct api_client **c);

#endif
