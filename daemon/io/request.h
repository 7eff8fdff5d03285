/* SPDX-License-Identifier: Apache-2.0 */
/*
 * request - one request of an API client: its parameters, its callbacks, and the calls that its user may
 * make (io/api_client makes and sends it); driver.
 */
#ifndef IO_REQUEST_H
#define IO_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct http_head;
struct request;

struct request_params {
    const char *target; /* path and query, escaped, without the prefix of url; copied */
    const char *accept; /* NULL = application/json; copied */
    /* The body of a POST, as JSON; copied; NULL = a GET. Requests may be sent twice, to one server or
     * to two: so this is for questions that change nothing on a server, such as the review of an
     * access. */
    const char *post;
    bool list;   /* a LIST: takes a place in the list gate and has list_idle_timeout */
    bool stream; /* a streaming list: takes a place until request_leave_gate() */
    /* The server is asked which cluster it is each time, on the connection of the request: there is
     * no later moment to ask, because the response goes on beside or as a watch
     * (docs/decisions.md "A list proves its cluster after its last page"). */
    bool asks_first;
    /* A watch, or a GET that decides about a delete: if the server process has not said lately
     * which cluster it serves, it is asked before the request is sent (io/server_identity). */
    bool follows;
    /* With follows: request_peer() of the scope's last request (0 = not known), and when that
     * request ended (loop_now_ms()). If another process answers this time, it must have said after
     * last_ms which revision its etcd has, and on_identity gets the revision. */
    uint64_t last_peer;
    uint64_t last_ms;
    uint64_t hard_deadline_ms; /* from the head to the end of the body; 0 = no limit */
};

/* No callback runs inside api_client_request() or api_client_identify(), and none after
 * request_dispose(). Each may dispose the request, other requests and the API client. on_head and
 * on_body are those of io/exchange.h. on_end comes exactly once, as the last callback; err NULL =
 * the response is complete, whatever its status. If several servers have failed the request, the
 * text of err says what each of them did.
 *
 * on_identity may be NULL. It comes when the server has said that it is of the right cluster and
 * that its etcd had this revision then ("" = not known), right before the request is sent.
 * Returning false means that the server lags behind the request, which then goes to another one,
 * where on_identity may come again. is_last: no other server is left, and false means that
 * on_identity has disposed the request. */
struct request_events {
    void (*on_head)(void *arg, const struct http_head *head);
    void (*on_body)(void *arg, const char *data, size_t n);
    void (*on_end)(void *arg, const struct err *err);
    bool (*on_identity)(void *arg, const char *revision, bool is_last);
};

/* The server process that answers, or has answered (conn_peer()), for api_client_identify(). 0 = no
 * process yet, or one that cannot be recognised on another connection: the connection of the response
 * cannot be used again, or the request is a streaming list and the server gives no TLS sessions. */
uint64_t request_peer(const struct request *r);

/* Was the connection of the request made with the present TLS context (api_client_set_tls())? True while
 * there is no connection, as the request will make or take one with that context. */
bool request_is_current(const struct request *r);

/* Has a server taken the request, and sent no head within response_timeout? */
bool request_unanswered(const struct request *r);

/* The user has found out that the server of the response is no good, for example because it fell
 * silent: later requests go to another server. */
void request_blame(struct request *r, const struct err *why);

/* The server of the request has failed: to how many other servers could the user's next request go
 * at once? 0 also if it would go to the same server. */
unsigned request_others(const struct request *r);

/* The initial events of a streaming list are complete: the response goes on as a watch, and its place
 * in the list gate, if it holds one, is free for another request. */
void request_leave_gate(struct request *r);

/* The end for the user, at any time: *r is NULL, and no callback comes. NULL is fine. A request that has
 * not ended closes its connection. */
void request_dispose(struct request **r);

#endif
