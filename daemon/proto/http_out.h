/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_out - writes heads of HTTP/1.1 messages; pure.
 */
#ifndef PROTO_HTTP_OUT_H
#define PROTO_HTTP_OUT_H

#include <stdbool.h>

#include "base/buf.h"

/* A request. All strings are borrowed. */
struct http_request {
    const char *method;        /* "GET" */
    const char *target;        /* path and query, already escaped */
    const char *host;          /* the value of the Host header */
    const char *accept;        /* NULL = application/json */
    const char *user_agent;    /* NULL = none */
    const char *authorization; /* value of the Authorization header; NULL = none */
    const char *headers;       /* more header lines, each with its CRLF; NULL = none */
    bool gzip;                 /* the body of the response may be compressed with gzip */
    const char *json;          /* the body, which is sent as application/json; NULL = none */
};

/* Appends the request, head and body. Values with CR, LF or NUL, and headers with an empty line, are
 * a bug of the caller (ensure). */
void http_out_request(struct buf *out, const struct http_request *r);

/* Appends a response head with Content-Length; the caller appends the body. headers has more header
 * lines, each with its CRLF; NULL = none. */
void http_out_response(struct buf *out, int status, const char *content_type, const char *headers,
                       size_t body_bytes);

/* Appends a response head for a body that ends with the connection (RFC 9112 6.3). */
void http_out_endless(struct buf *out, int status, const char *content_type);

#endif
