/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_in - parses one incoming HTTP/1.1 message, a response or a request; pure. The only home of
 * llhttp. It reads bodies that are chunked, have a Content-Length or end with the connection,
 * within limits, and skips 1xx responses.
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
    size_t head_bytes;   /* > 0: start line and all header lines together, heads of 1xx responses
                            included; also the limit for the bytes between two pieces of a chunked body,
                            and for its trailers */
    uint64_t body_bytes; /* 0 = no limit */
};

/* The head of a message. */
struct http_head {
    int status;              /* response */
    struct str method;       /* request; "GET" */
    struct str target;       /* request: path and query */
    struct str host;         /* request: Host in lower case, with its port; empty if absent */
    struct str content_type; /* lower case, without parameters; empty if absent */
    /* Lower case; empty if absent or "identity". The pieces of the body are as they came. */
    struct str content_encoding;
    struct str location;   /* of a redirect, as it came; empty if absent */
    struct str warnings;   /* the values of all Warning fields, a line each; empty if absent */
    int64_t retry_after_s; /* -1 unless Retry-After is a non-negative integer:
                                docs/kubernetes-protocol.md "Retry-After" */
    int64_t date_s;  /* Date in seconds since 1970; 0 if absent or not as servers must write it
                                (RFC 9110 5.6.7) */
    bool keep_alive; /* the connection can carry another message after this one */
};

/* The part that http_in_read() has found. */
enum http_in_part {
    HTTP_IN_MORE,   /* nothing: all bytes are read, and more must come */
    HTTP_IN_HEAD,   /* the head is complete: http_in_head() */
    HTTP_IN_BODY,   /* a piece of the body */
    HTTP_IN_END,    /* the message is complete */
    HTTP_IN_FAILED, /* the error says why */
};

struct http_in;

/* A parser for one message. limits is copied. It is stricter than llhttp where a message could be
 * framed in two ways (RFC 9112 6.3, 11.2): at most one Transfer-Encoding, which must be "chunked",
 * in HTTP/1.1 only, and never beside a Content-Length. A second Content-Encoding is an error, too, and so
 * is a second Host of a request. The target of a request must be an absolute path. Never NULL. */
struct http_in *http_in_create(enum http_in_kind kind, const struct http_limits *limits);

/* Frees the parser and sets *h to NULL. NULL is fine. */
void http_in_destroy(struct http_in **h);

/* Reads bytes up to the next part of the message, and takes them from the front of *data; call it
 * again until it returns MORE, END or FAILED. BODY: *piece is the piece, part of *data, never empty.
 * END: the bytes that are left belong to something else. FAILED: ERR_PROTOCOL or ERR_TOO_BIG (a
 * limit). Not to be called after END or FAILED. */
enum http_in_part http_in_read(struct http_in *h, struct str *data, struct str *piece,
                               struct err *err) MUST_CHECK;

/* The head, after HTTP_IN_HEAD; borrowed until the next http_in_read(). */
const struct http_head *http_in_head(const struct http_in *h);

/* The peer has closed the connection. This completes a body that ends with the connection; in any
 * other state it is ERR_CLOSED. Not to be called after an error or the end of the
 * message. */
enum err_kind http_in_eof(struct http_in *h, struct err *err) MUST_CHECK;

/* Whether the connection may carry another message: the message is complete, its head allows
 * keep-alive, and its body had an end of its own. */
bool http_in_reusable(const struct http_in *h);

#endif
