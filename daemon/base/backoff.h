/* SPDX-License-Identifier: Apache-2.0 */
/*
 * backoff - the next delay from the number of failures so far; pure. The delays are initial,
 * initial * factor, ... up to max; each one is drawn from [d, d * (1 + jitter))
 * (docs/kubernetes-protocol.md "Backoff").
 */
#ifndef BASE_BACKOFF_H
#define BASE_BACKOFF_H

#include <stdint.h>

#include "base/rng.h"

struct backoff_params {
    uint64_t initial_ms;
    uint64_t max_ms; /* the largest d; jitter comes on top */
    double factor;   /* >= 1 */
    double jitter;   /* >= 0 */
};

struct backoff {
    double next_ms; /* 0 = start again from initial_ms */
};

/* Returns the next delay in ms, and makes the one after it longer. */
uint64_t backoff_step(struct backoff *b, const struct backoff_params *p, struct rng *rng);

/* Makes the next delay start from initial_ms again. */
void backoff_reset(struct backoff *b);

#endif
