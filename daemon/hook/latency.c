/* SPDX-License-Identifier: Apache-2.0 */
#include "hook/latency.h"

/* The window is over: its durations are older than the last minutes. */
static void retire(struct latency *l, struct histogram *window)
{
    histogram_merge(&l->older, window);
    *window = (struct histogram){0};
}

struct histogram *latency_window(struct latency *l, uint64_t now_ms)
{
    uint64_t number = now_ms / LATENCY_WINDOW_MS;

    /* The window that begins takes the place of the one before the last; after a long silence
     * the last one is too old, too. */
    if (number != l->number)
        retire(l, &l->window[number % 2]);
    if (number > l->number + 1)
        retire(l, &l->window[(number + 1) % 2]);
    l->number = number;
    return &l->window[number % 2];
}

struct histogram latency_all(const struct latency *l)
{
    struct histogram h = l->older;

    histogram_merge(&h, &l->window[0]);
    histogram_merge(&h, &l->window[1]);
    return h;
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
