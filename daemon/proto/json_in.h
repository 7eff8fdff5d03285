/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_in - a stream of JSON values as tokens with exact byte positions; pure. The only home of
 * yajl. Values may follow each other with or without white space between them: a value that ends at
 * depth 0 ends a frame (docs/kubernetes-protocol.md "Event frames").
 */
#ifndef PROTO_JSON_IN_H
#define PROTO_JSON_IN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

/* The max_depth for everything that came from a server: room for an object of OBJECT_MAX_DEPTH
 * levels, more than Kubernetes' own schemas need, and for the levels around it. */
enum { JSON_IN_MAX_DEPTH = 528 };

/* Whether the byte is white space, which JSON allows between tokens. */
static inline bool json_is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

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
    /* The number of containers that this token stands in: 0 = a top-level value. An END has the
     * depth of its opening token, a KEY the depth of the values in its object. */
    unsigned depth;
    struct str text; /* KEY, STRING: decoded; NUMBER: as written; borrowed until return */
    /* Position just behind the token, in bytes since the stream began. Between the end of one token
     * and the start of the next stand only white space, ',' and ':'. It may be the position of the
     * first byte of the chunk being fed (a number that the chunk before has ended), never less. */
    uint64_t end;
};

/* One token. False stops the reader for good. */
typedef bool json_in_cb(void *arg, const struct json_token *t);

/* Is called when a limit is exceeded; why is a constant text ("it ..."). */
typedef void json_in_excess(void *arg, const char *why);

struct json_in;

/* A reader for a stream of values. Never NULL. max_depth bounds nesting (ERR_TOO_BIG). */
struct json_in *json_in_create(unsigned max_depth, json_in_cb *cb, void *arg);

/* Call before the first byte. From then on nesting deeper than max_depth (down to 100000 levels), and
 * numbers of more than 1024 bytes, are no errors of this reader: it calls excess for each, with the
 * reader's arg, just before the token. Of a string or number that arrives in pieces and is longer than
 * max_token bytes (a string: and than 8 KiB) only the beginning is kept, and the token has that text: more than
 * 1024 bytes of it. Mistakes in the rest are not found. */
void json_in_tolerate(struct json_in *j, json_in_excess *excess, size_t max_token);

/* Frees the reader and sets *j to NULL. NULL is fine. Not from inside its callback. */
void json_in_destroy(struct json_in **j);

/* Feeds n bytes. The callback gets each token before this returns, as soon as the token's last byte
 * is known; a number at depth 0 ends only with the next byte or json_in_finish(). The bytes of an
 * unfinished token are kept: the caller bounds them by counting the bytes that it feeds.
 * ERR_PROTOCOL: not JSON or not UTF-8, with the position in the text, never with the data;
 * ERR_TOO_BIG: nested too deep, or a number of more than 1024 bytes; ERR_CLOSED: the callback
 * returned false, or an earlier feed failed. */
enum err_kind json_in_feed(struct json_in *j, const char *data, size_t n,
                           struct err *err) MUST_CHECK;

/* No more bytes will come; a number at depth 0 ends now. ERR_CLOSED when a value is unfinished or
 * the reader has stopped, ERR_OK between values. */
enum err_kind json_in_finish(struct json_in *j, struct err *err) MUST_CHECK;

/* Whether the reader is between two values, and has seen nothing of the next one. */
bool json_in_idle(const struct json_in *j);

/* Scans one complete text that holds exactly one value, nested at most JSON_IN_MAX_DEPTH deep.
 * Errors as json_in_feed() and json_in_finish(); ERR_PROTOCOL also if there is text behind the
 * value, or no value at all. */
enum err_kind json_in_scan(struct str text, json_in_cb *cb, void *arg, struct err *err) MUST_CHECK;

#endif
