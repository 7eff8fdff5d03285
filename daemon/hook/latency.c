/* SPDX-License-Identifier: Apache-2.0 */
#include "hook/latency.h"

void latency_add(struct latency *l, uint64_t ms, uint64_t now_ms)
{
    uint64_t number = now_ms / LATENCY_WINDOW_MS;

    /* The window that begins takes the place of the one before the last; after a long silence
     * the last one is too old, too. */
    if (number != l->number)
        l->window[number % 2] = (struct histogram){0};
    if (number > l->number + 1)
        l->window[(number + 1) % 2] = (struct histogram){0};
    l->number = number;
    histogram_add(&l->window[number % 2], ms);
    histogram_add(&l->all, ms);
}

struct histogram latency_recent(const struct latency *l, uint64_t now_ms)
{
    uint64_t age = now_ms / LATENCY_WINDOW_MS - l->number; /* in windows */
    struct histogram h = {0};

    if (age <= 1)
        histogram_merge(&h, &l->window[l->number % 2]);
    if (age == 0)
        histogram_merge(&h, &l->window[(l->number + 1) % 2]);
    return h;
}
