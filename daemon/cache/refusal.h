/* SPDX-License-Identifier: Apache-2.0 */
/*
 * refusal - a response whose status is an error: its head and the beginning of its body, read as
 * what the server means by it; pure.
 */
#ifndef CACHE_REFUSAL_H
#define CACHE_REFUSAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "proto/http_in.h"

/* Zero-initialised: no response. */
struct refusal {
    int code;
    int64_t retry_after_s; /* <= 0 = not given */
    struct buf body;
};

/* The head of a response came (of any status: a good one may ask for patience, too). */
void refusal_head(struct refusal *r, const struct http_head *head);

/* A piece of its body. False: more is not needed. */
bool refusal_body(struct refusal *r, const char *data, size_t n) MUST_CHECK;

/* The body is complete, or what came of it: fills *err. */
void refusal_read(struct refusal *r, struct err *err);

/* How long the server asked us to stay away, in ms: in its head, its body, or (event_s, <= 0 = not)
 * an ERROR event. Bounded, whatever it says. */
uint64_t refusal_wait_ms(const struct refusal *r, int64_t event_s);

/* Forgets the response. */
void refusal_reset(struct refusal *r);

#endif
