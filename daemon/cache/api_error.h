/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_error - a response whose status is an error: its head and the beginning of its body, read as
 * what the server means by it; pure.
 */
#ifndef CACHE_API_ERROR_H
#define CACHE_API_ERROR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "proto/http_in.h"

/* Zero-initialised: no response. */
struct api_error {
    int code;
    int64_t retry_after_s; /* <= 0 = not given */
    struct buf body;
};

/* The head of a response came (of any status: a good one may ask for patience, too). */
void api_error_head(struct api_error *r, const struct http_head *head);

/* A piece of its body. False: more is not needed. */
bool api_error_body(struct api_error *r, const char *data, size_t n) MUST_CHECK;

/* The body is complete, or what came of it: fills *err. */
void api_error_read(struct api_error *r, struct err *err);

/* How long the server asked us to stay away, in ms: in its head, its body, or (event_s, <= 0 = not)
 * an ERROR event. Bounded, whatever it says. */
uint64_t api_error_wait_ms(const struct api_error *r, int64_t event_s);

/* Forgets the response. */
void api_error_reset(struct api_error *r);

#endif
