/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_in - a stream of JSON values as tokens with exact byte positions; pure. The only home of
 * yajl. Values may follow each other with or without white space between them: one that ends at
 * depth 0 ends a frame.
 */
#ifndef PROTO_JSON_IN_H
#define PROTO_JSON_IN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

/* The max_depth for anything that came from a server: an object of OBJECT_MAX_DEPTH, which is more
 * than Kubernetes' own schemas need, and what stands around it. */
enum { JSON_IN_MAX_DEPTH = 528 };

enum json_type {
    JSON_OBJECT,
    JSON_OBJECT_END,
    JSON_ARRAY,
    JSON_ARRAY_END,
    JSON_KEY,
    JSON_STRING,
    JSON_NUMBER, /* text as it was written */
    JSON_TRUE,
    JSON_FALSE,
    JSON_NULL,
};

struct json_token {
    enum json_type type;
    /* Containers this token stands in: 0 = a top-level value. An END has the depth of its opening
     * token; a KEY that of the values in its object. */
    unsigned depth;
    struct str text; /* KEY, STRING: decoded; NUMBER: as written; borrowed until return */
    /* Position just behind the token, in bytes since the stream began. Between the end of one token
     * and the start of the next stand only white space, ',' and ':'. It may be the position of the
     * first byte of the chunk being fed (a number that the chunk before has ended), never less. */
    uint64_t end;
};

/* One token. False stops the reader for good. */
typedef bool json_in_cb(void *arg, const struct json_token *t);

/* A limit is exceeded; why is a constant text ("it ..."). */
typedef void json_in_excess(void *arg, const char *why);

struct json_in;

/* A reader for a stream of values. Never NULL. max_depth bounds nesting (ERR_TOO_BIG). */
struct json_in *json_in_create(unsigned max_depth, json_in_cb *cb, void *arg);

/* Before the first byte: nesting deeper than max_depth and numbers of more than 1024 bytes are no
 * errors of this reader. excess hears of each, with the reader's arg, just before its token. Of a
 * string or number that comes in pieces and is longer than max_token no more than the beginning is
 * kept: the token has that text. */
void json_in_tolerate(struct json_in *j, json_in_excess *excess, size_t max_token);

/* Frees the reader and sets *j to NULL. NULL is fine. Not from inside its callback. */
void json_in_destroy(struct json_in **j);

/* Feeds n bytes; tokens come before return, as soon as their last byte is known. A number at depth
 * 0 ends only with the next byte or json_in_finish(). The bytes of an unfinished token are kept:
 * bound them by counting what was fed. ERR_PROTOCOL: not JSON or not UTF-8, with the position in
 * the text, never with the data; ERR_TOO_BIG: nested too deep, or a number of more than 1024 bytes;
 * ERR_CLOSED: the callback returned false, or an earlier feed failed. */
enum err_kind json_in_feed(struct json_in *j, const char *data, size_t n,
                           struct err *err) MUST_CHECK;

/* No more bytes will come; a number at depth 0 ends now. ERR_CLOSED when a value is unfinished or
 * the reader has stopped, ERR_OK between values. */
enum err_kind json_in_finish(struct json_in *j, struct err *err) MUST_CHECK;

/* Between two values (nothing of the next one seen)? */
bool json_in_idle(const struct json_in *j);

/* Scans one complete text that holds exactly one value. Same errors; ERR_PROTOCOL also for text
 * behind the value or no value at all. */
enum err_kind json_in_scan(struct str text, json_in_cb *cb, void *arg, struct err *err) MUST_CHECK;

#endif
