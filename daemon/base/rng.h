/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rng - a seeded generator of random numbers for jitter; pure, so that a run of the simulator can
 * be repeated. Not for secrets.
 */
#ifndef BASE_RNG_H
#define BASE_RNG_H

#include <stdint.h>

struct rng {
    uint64_t state;
};

/* Seeds the generator. The same seed gives the same numbers. */
void rng_seed(struct rng *r, uint64_t seed);

/* 64 random bits (splitmix64). */
uint64_t rng_next(struct rng *r);

/* Uniform in [lo, hi]; lo <= hi. */
uint64_t rng_between(struct rng *r, uint64_t lo, uint64_t hi);

/* Uniform in [0, 1). */
double rng_fraction(struct rng *r);

#endif
