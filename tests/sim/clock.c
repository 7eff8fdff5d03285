/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/clock.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

void clock_init(struct clock *c, uint64_t seed, bool verbose)
{
    *c = (struct clock){.now_ms = 1000, .verbose = verbose};
    rng_seed(&c->rng, seed);
}

void clock_clear(struct clock *c, struct alarm *a)
{
    if (a->set)
        heap_remove(&c->due, &a->node);
    a->set = false;
}

void clock_set(struct clock *c, struct alarm *a, uint64_t delay_ms)
{
    clock_clear(c, a);
    heap_push(&c->due, &a->node, c->now_ms + delay_ms);
    a->set = true;
}

void clock_set_at(struct clock *c, struct alarm *a, uint64_t at_ms)
{
    clock_set(c, a, at_ms > c->now_ms ? at_ms - c->now_ms : 0);
}

bool clock_step(struct clock *c, uint64_t until_ms)
{
    struct heap_node *next = heap_peek(&c->due);

    if (next == NULL || next->due_ms > until_ms) {
        c->now_ms = until_ms;
        return false;
    }
    struct alarm *a = container_of(next, struct alarm, node);
    c->now_ms = next->due_ms;
    clock_clear(c, a);
    a->fn(a);
    return true;
}

bool clock_percent(struct clock *c, unsigned percent)
{
    return rng_between(&c->rng, 0, 99) < percent;
}

uint64_t clock_pick(struct clock *c, uint64_t lo, uint64_t hi)
{
    return rng_between(&c->rng, lo, hi);
}

void clock_trace(const struct clock *c, const char *fmt, ...)
{
    va_list ap;

    if (!c->verbose)
        return;
    fprintf(stderr, "%8" PRIu64 ".%03" PRIu64 " ", c->now_ms / 1000, c->now_ms % 1000);
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fputc('\n', stderr);
}
