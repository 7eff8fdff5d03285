/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_error - the meaning of a response with an error status, read from its head and the beginning of
 * its body; pure.
 */
#ifndef CACHE_API_ERROR_H
#define CACHE_API_ERROR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "proto/http_in.h"

/* Zero-initialised: no head has come. */
struct api_error {
    int code;
    int64_t retry_after_s; /* <= 0 = the server gave none */
    struct buf body;
    char location
        [100]; /* of a redirect, cut, without its parts that may be secret; "" = none to show */
};

/* Takes the head of a response of any status: a good response may ask for patience, too. */
void api_error_head(struct api_error *r, const struct http_head *head);

/* Is the body of a response with status 200 JSON, by its head? ERR_PROTOCOL: no, *err says what it
 * is. A missing Content-Type is accepted. */
enum err_kind api_error_type(const struct http_head *head, struct err *err);

/* Takes a piece of the response's body. Returns false when no more of the body is needed. */
bool api_error_body(struct api_error *r, const char *data, size_t n) MUST_CHECK;

/* Call it when the body is complete, or when no more of it will come: fills *err with the server's
 * error, and takes over retryAfterSeconds of the Status if that is longer. */
void api_error_read(struct api_error *r, struct err *err);

/* How long the server asked us to stay away, in ms; 0 = it did not ask. event_s is
 * retryAfterSeconds of an ERROR event (<= 0 = there was none); it counts before the response's own.
 * At most 300 s, whatever the server says (docs/kubernetes-protocol.md "Retry-After"). */
uint64_t api_error_wait_ms(const struct api_error *r, int64_t event_s);

/* Forgets the response and frees its body. */
void api_error_reset(struct api_error *r);

#endif
