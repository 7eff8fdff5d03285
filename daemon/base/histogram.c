/* SPDX-License-Identifier: Apache-2.0 */
#include "base/histogram.h"

static const uint64_t bounds_ms[HISTOGRAM_BOUNDS] = {
    1, 2, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10000, 30000, 60000, 300000, 1800000,
};

uint64_t histogram_bound_ms(size_t bucket)
{
    return bounds_ms[bucket];
}

/* By the bits of a duration, the first bucket that may take one with so many: adding is done for each
 * event, so it does not look at all bounds. */
static const uint8_t first_bucket[] = {
    0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 10, 11, 12, 13, 14, 15, 15, 15, 16, 16,
};

static size_t first_bucket_of(uint64_t ms)
{
    size_t bits = ms > 0 ? (size_t)(64 - __builtin_clzll(ms)) : 0;

    return bits < sizeof(first_bucket) ? first_bucket[bits] : HISTOGRAM_BOUNDS;
}

void histogram_add(struct histogram *h, uint64_t ms)
{
    size_t i = first_bucket_of(ms);

    while (i < HISTOGRAM_BOUNDS && ms > bounds_ms[i])
        i++;
    h->count[i]++;
    h->total++;
    h->sum_ms += ms;
    h->max_ms = ms > h->max_ms ? ms : h->max_ms;
}

void histogram_merge(struct histogram *h, const struct histogram *from)
{
    for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++)
        h->count[i] += from->count[i];
    h->total += from->total;
    h->sum_ms += from->sum_ms;
    h->max_ms = from->max_ms > h->max_ms ? from->max_ms : h->max_ms;
}

/* Nothing is known of where in its bucket a duration was: they count as spread evenly. */
static uint64_t within(const struct histogram *h, size_t bucket, uint64_t rank)
{
    uint64_t low = bucket > 0 ? bounds_ms[bucket - 1] : 0;
    uint64_t high = bucket < HISTOGRAM_BOUNDS ? bounds_ms[bucket] : h->max_ms;
    uint64_t ms = low + (high - low) * rank / h->count[bucket];

    return ms < h->max_ms ? ms : h->max_ms;
}

uint64_t histogram_quantile_ms(const struct histogram *h, unsigned permille)
{
    /* Rounded up: the median of one duration is that one. */
    uint64_t rank = (h->total * permille + 999) / 1000;

    for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
        if (rank > 0 && rank <= h->count[i])
            return within(h, i, rank);
        rank -= rank > 0 ? h->count[i] : 0;
    }
    return 0;
}
