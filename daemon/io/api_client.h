/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_client - requests to the API servers of one cluster; driver. kube/servers decides to which server a
 * request goes, io/api_server has the connections.
 *
 * A request whose connection or response head fails goes to the next server at once, until each was tried
 * once. A 5xx without Retry-After, and a 401, count as such a failure if there are several servers.
 *
 * LISTs and streaming lists wait for a place in the list gate (list_concurrency places, first come, first
 * served); watches never wait for it. A response that holds a place must bring 64 KiB a minute, else the
 * request fails with ERR_TIMEOUT: other requests wait for its place.
 *
 * While no TLS session of a server is known to work, one request connects to it and the others wait
 * (io/api_server). If that connection fails, they go to the next server or fail with it, which also spares
 * a server that is down.
 *
 * Some requests need a server that has said which cluster it serves (io/server_identity): the question is a
 * LIST of namespace kube-system on the connection of the request that waits for the answer.
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
struct loop;
struct proxy;
struct request;
struct request_events;
struct request_params;
struct servers;
struct tls_ctx;
struct url;

struct api_client_server {
    const char *name; /* its URL, for log and status */
    const struct url *url;
    const struct proxy *proxy;   /* on the way to it; NULL = none; must outlive the client */
    const char *tls_server_name; /* the name in the certificate; NULL or "" = the host of url */
    unsigned tier;               /* as in kube/servers.h */
};

/* Copied, texts included, but not the proxies. */
struct api_client_params {
    const char *name; /* of the cluster, for the log */
    const struct api_client_server *servers;
    size_t server_count; /* 0 to SERVERS_MAX; with 0 there must be no request */
    uint64_t seed;       /* as in servers_init() */
    /* The CAs that proxies with https:// are checked against; the client takes a reference. NULL:
     * there are none, and requests through such a proxy fail with ERR_CREDENTIAL. */
    struct tls_ctx *proxy_tls;
    const char *user_agent;
    const char *headers; /* header lines for every request, each with its CRLF; NULL = none */
    /* Of one connection. With several servers each one gets a share, so that a request does not
     * wait longer for all of them than it would for one. */
    uint64_t connect_timeout_ms;
    uint64_t tls_timeout_ms;
    uint64_t response_timeout_ms;
    uint64_t list_idle_timeout_ms;
    unsigned list_concurrency; /* places in the list gate, > 0 */
    bool gzip;                 /* LISTs may come compressed; on_body gets them decompressed */
    /* Does a server with this answer belong to the right cluster? False: *err says why not, as
     * ERR_FOREIGN. status is 200, or the status of a server that refuses to tell, or 0 if the
     * question has failed for too long (answer is empty then). Called from the loop; must not
     * dispose requests. NULL: servers are never asked. */
    bool (*judge)(void *arg, const struct cluster_identity_answer *answer, int status,
                  struct err *err);
    void *judge_arg;
    uint64_t question_interval_ms; /* from one question to a server to the next */
    bool is_wary; /* no request goes to a server that has not said which cluster it serves */
};

/* A client without credentials and connections. Never NULL; release with api_client_dispose(). */
struct api_client *api_client_create(struct loop *loop, const struct api_client_params *params);

/* Sets the trusted CAs and the client certificate of connections to a server (index in the parameters)
 * from now on; takes a reference; NULL = none (requests to an https server then fail with
 * ERR_CREDENTIAL). Drops the TLS session and all idle connections of the server; requests under way go
 * on with the context with which they began. A server that had failed may be tried at once. */
void api_client_set_tls(struct api_client *c, size_t server, struct tls_ctx *ctx);

/* Sets the value of the Authorization header ("Bearer TOKEN") of requests that are sent to a server from
 * now on; copied; NULL = none. The value before it is wiped. A value must not have control bytes. It is
 * never sent to an http server. */
void api_client_set_authorization(struct api_client *c, size_t server, const char *value);

/* Starts a GET, or a POST. It is repeated once, on a new connection, if one that was kept alive ends
 * before the first byte of the response; also if a server answers 401 and has got other credentials
 * since it was sent. events must outlive the request. Never NULL; release with request_dispose(). */
struct request *api_client_request(struct api_client *c, const struct request_params *params,
                                   const struct request_events *events, void *arg);

/* Opens a connection to a server for the caller alone, who wants to know how far it gets; events and
 * release as in conn_create(). Without certificates (api_client_set_tls()) it is one without TLS, also
 * to an https server. NULL: the proxy cannot be used, as the CAs of the system cannot. */
struct conn *api_client_connect(struct api_client *c, size_t server,
                                const struct conn_events *events, void *arg);

/* Asks the server process peer (0 = any) which cluster it serves, and has judge() decide about the
 * answer. The question is sent at most once per question_interval_ms; one answer serves all requests
 * that waited for it. on_end comes with NULL: the server is of the right cluster; ERR_FOREIGN: it is
 * not; ERR_CLOSED: among others, the process peer cannot be reached any more; any other error: there was
 * no answer. If the server gives no TLS sessions, processes cannot be told apart, and the answer of any
 * process of that server counts. No other callback comes. Never NULL; release with request_dispose(). */
struct request *api_client_identify(struct api_client *c, uint64_t peer,
                                    const struct request_events *events, void *arg);

/* The user makes no requests any more: closes idle connections. on_empty comes when no request is left,
 * never inside a call of the user, and may dispose the client. */
void api_client_retire(struct api_client *c, void (*on_empty)(void *arg), void *arg);

/* When a part of any response came last (loop_now_ms()); 0 = never. */
uint64_t api_client_last_contact_ms(const struct api_client *c);

/* The name in api_client_params. */
const char *api_client_name(const struct api_client *c);

/* The servers and their health; borrowed, and valid until the loop goes on. */
const struct servers *api_client_servers(const struct api_client *c);

/* The end for the user: *c is NULL. Requests that still exist get no callback any more; their
 * owners must still dispose them, before or after this call. NULL is fine. */
void api_client_dispose(struct api_client **c);

#endif
