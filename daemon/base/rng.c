/* SPDX-License-Identifier: Apache-2.0 */
#include "base/rng.h"

#include "base/panic.h"

void rng_seed(struct rng *r, uint64_t seed)
{
    r->state = seed;
}

/* splitmix64 by Sebastiano Vigna: one step of a counter, then its bits mixed. Any seed is good. */
uint64_t rng_next(struct rng *r)
{
    uint64_t z = r->state += 0x9e3779b97f4a7c15U;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
}

double rng_fraction(struct rng *r)
{
    /* A double holds 53 bits exactly, so the result never is 1. */
    return (double)(rng_next(r) >> 11) * 0x1.0p-53;
}

uint64_t rng_between(struct rng *r, uint64_t lo, uint64_t hi)
{
    ensure(lo <= hi);
    /* 0 if the range is all 64 bits; the bias of % does not matter for jitter. */
    uint64_t span = hi - lo + 1;

    return span == 0 ? rng_next(r) : lo + rng_next(r) % span;
}
