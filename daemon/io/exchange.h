/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exchange - one HTTP request and its response on one open connection; driver.
 * HEAD (request sent, no response head yet) -> BODY -> DONE, each with a deadline.
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

/* Largest response head. */
#define EXCHANGE_HEAD_BYTES ((size_t)64 * 1024)

struct exchange_params {
    const struct http_request *request; /* borrowed until exchange_create() returns */
    uint64_t response_timeout_ms;       /* until the head is complete; 0 = none */
    uint64_t idle_timeout_ms;           /* between two pieces of the body; 0 = none */
    uint64_t hard_deadline_ms;          /* from the head to the end of the body; 0 = none */
};

/* None runs inside a call of the user, none after exchange_dispose(). Any may dispose the
 * exchange. */
struct exchange_events {
    void (*on_head)(void *arg, const struct http_head *head);
    void (*on_body)(void *arg, const char *data, size_t n); /* n > 0, borrowed */
    /* Exactly once, last. NULL: the response is complete. Else what conn.h names, ERR_TIMEOUT (the
     * text says which deadline), ERR_PROTOCOL or ERR_TOO_BIG. The connection has no owner when it
     * runs. */
    void (*on_end)(void *arg, const struct err *err);
};

/* Sends the request on an open connection, whose events it takes until the end. conn must live
 * until on_end or exchange_dispose(); events too. Never NULL. */
struct exchange *exchange_create(struct loop *loop, struct conn *conn,
                                 const struct exchange_params *params,
                                 const struct exchange_events *events, void *arg);

/* Has any byte of the response arrived? */
bool exchange_heard(const struct exchange *x);

/* After on_end(NULL): can the connection carry another exchange? */
bool exchange_reusable(const struct exchange *x);

/* The end for the user: *x is NULL; an unfinished exchange leaves its connection without owner and
 * unusable. The memory goes in a later turn. NULL is fine. */
void exchange_dispose(struct exchange **x);

#endif
