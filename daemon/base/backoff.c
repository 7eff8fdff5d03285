/* SPDX-License-Identifier: Apache-2.0 */
#include "base/backoff.h"

/* The step is kept as a double: a factor such as 1.1 would be lost on small whole numbers. */
uint64_t backoff_step(struct backoff *b, const struct backoff_params *p, struct rng *rng)
{
    double max = (double)p->max_ms;
    double d = b->next_ms > 0 ? b->next_ms : (double)p->initial_ms;

    if (d > max)
        d = max;
    b->next_ms = d * p->factor < max ? d * p->factor : max;
    return (uint64_t)(d * (1.0 + p->jitter * rng_fraction(rng)));
}

void backoff_reset(struct backoff *b)
{
    b->next_ms = 0;
}
