/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exchange - one HTTP request and its response on one open connection; driver.
 *
 * HEAD (the request was sent, no response head yet) -> BODY -> DONE. HEAD has the response timeout;
 * BODY has the idle timeout and the hard deadline.
 */
#ifndef IO_EXCHANGE_H
#define IO_EXCHANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct conn;
struct exchange;
struct http_head;
struct http_request;
struct loop;

/* The largest response head that is accepted. */
#define EXCHANGE_HEAD_BYTES ((size_t)64 * 1024)

struct exchange_params {
    const struct http_request *request; /* borrowed until exchange_create() returns */
    uint64_t response_timeout_ms;       /* until the head is complete; 0 = no limit */
    uint64_t idle_timeout_ms;           /* between two calls of on_body; 0 = no limit */
    uint64_t hard_deadline_ms;          /* from the head to the end of the body; 0 = no limit */
};

/* No callback runs inside a call of the user, and none after exchange_dispose(). Each may dispose
 * the exchange. A body that came compressed is handed out decompressed. */
struct exchange_events {
    void (*on_head)(void *arg, const struct http_head *head);
    void (*on_body)(void *arg, const char *data, size_t n); /* n > 0, borrowed */
    /* Comes exactly once, as the last callback. err NULL: the response is complete, whatever its
     * status. Else an error of on_closed in io/conn.h, ERR_TIMEOUT (the text says which deadline),
     * or ERR_PROTOCOL: broken HTTP, a head that is too big, or a body in a coding that the request
     * does not allow (then without on_head). The connection has no owner any more when on_end
     * runs. */
    void (*on_end)(void *arg, const struct err *err);
};

/* Sends the request on an open connection, and is the owner of its events until on_end. conn and
 * events must live until on_end or exchange_dispose(). Never NULL; release with exchange_dispose(),
 * after on_end too. */
struct exchange *exchange_create(struct loop *loop, struct conn *conn,
                                 const struct exchange_params *params,
                                 const struct exchange_events *events, void *arg);

/* Has any byte of the response arrived? */
bool exchange_heard(const struct exchange *x);

/* After on_end(NULL): can the connection carry another exchange? */
bool exchange_reusable(const struct exchange *x);

/* The end for the user: *x is NULL, no callback runs any more. An exchange that has not ended
 * leaves its connection without an owner, and of no use for another exchange. The memory goes in a
 * later turn. NULL is fine. */
void exchange_dispose(struct exchange **x);

#endif
