/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_in - parses one HTTP/1.1 message that comes in, response or request; pure. The only home of
 * llhttp. Chunked, Content-Length and until-EOF bodies, with limits; 1xx responses are skipped.
 */
#ifndef PROTO_HTTP_IN_H
#define PROTO_HTTP_IN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

enum http_in_kind { HTTP_IN_RESPONSE, HTTP_IN_REQUEST };

struct http_limits {
    size_t head_bytes;   /* > 0: start line and all header lines together, 1xx heads included; also
                            what may stand between two bytes of a chunked body, and the trailers */
    uint64_t body_bytes; /* 0 = no limit */
};

/* Borrowed for the call of on_head. */
struct http_head {
    int status;              /* response */
    struct str method;       /* request; "GET" */
    struct str target;       /* request: path and query */
    struct str content_type; /* lower case, without parameters; empty if absent */
    int64_t retry_after_s;   /* -1 unless Retry-After is a non-negative integer:
                                docs/kubernetes-protocol.md "Retry-After" */
    bool keep_alive;         /* the connection can carry another message after this one */
};

/* All three are needed; they run from inside http_in_feed() and http_in_eof(). A false from on_head
 * or on_body stops the parser for good. */
struct http_in_events {
    bool (*on_head)(void *arg, const struct http_head *head);
    bool (*on_body)(void *arg, const char *data, size_t n); /* n > 0, borrowed */
    void (*on_end)(void *arg);                              /* message complete */
};

struct http_in;

/* A parser for one message. limits are copied, events must outlive it. Stricter than llhttp where
 * framing could be read in two ways (RFC 9112 6.3, 11.2): one Transfer-Encoding, only "chunked", in
 * HTTP/1.1 only, and never beside a Content-Length. Requests: an absolute path as the target.
 * Never NULL. */
struct http_in *http_in_create(enum http_in_kind kind, const struct http_limits *limits,
                               const struct http_in_events *events, void *arg);

/* Frees the parser and sets *h to NULL. NULL is fine. Not from inside its own callbacks. */
void http_in_destroy(struct http_in **h);

/* Feeds n bytes. *used (may be NULL) = bytes that belong to this message; without an error fewer
 * than n only when it ended. Errors: ERR_PROTOCOL, ERR_TOO_BIG (a limit), ERR_CLOSED (a callback
 * returned false). Feed nothing after an error or the end. */
enum err_kind http_in_feed(struct http_in *h, const char *data, size_t n, size_t *used,
                           struct err *err) MUST_CHECK;

/* The peer closed. Completes an until-EOF body (on_end runs), else ERR_CLOSED. Not after an error
 * or the end. */
enum err_kind http_in_eof(struct http_in *h, struct err *err) MUST_CHECK;

/* Whether the message is complete. */
bool http_in_done(const struct http_in *h);

/* After the end: may the connection carry another message (keep-alive and a delimited body)? */
bool http_in_reusable(const struct http_in *h);

#endif
