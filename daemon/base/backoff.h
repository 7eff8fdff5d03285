/* SPDX-License-Identifier: Apache-2.0 */
/*
 * backoff - the next delay from the failures so far; pure. The ladder initial, initial * factor,
 * ... up to max; each sleep is drawn from [d, d * (1 + jitter))
 * (docs/kubernetes-protocol.md "Backoff").
 */
#ifndef BASE_BACKOFF_H
#define BASE_BACKOFF_H

#include <stdint.h>

#include "base/rng.h"

struct backoff_params {
    uint64_t initial_ms;
    uint64_t max_ms; /* of d, before jitter */
    double factor;   /* >= 1 */
    double jitter;   /* >= 0 */
};

struct backoff {
    double next_ms; /* 0 = the ladder starts anew */
};

/* The next delay in ms; climbs one step. */
uint64_t backoff_step(struct backoff *b, const struct backoff_params *p, struct rng *rng);

/* The next failure starts at initial_ms again. */
void backoff_reset(struct backoff *b);

#endif
