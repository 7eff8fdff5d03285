/* SPDX-License-Identifier: Apache-2.0 */
/*
 * histogram - how often durations were how long, in buckets of fixed bounds from 1 ms to 30 minutes;
 * pure.
 */
#ifndef BASE_HISTOGRAM_H
#define BASE_HISTOGRAM_H

#include <stddef.h>
#include <stdint.h>

/* The last bucket counts the times that are longer than every bound. */
enum { HISTOGRAM_BOUNDS = 17, HISTOGRAM_BUCKETS = HISTOGRAM_BOUNDS + 1 };

/* Zero-initialised is empty. */
struct histogram {
    uint64_t count[HISTOGRAM_BUCKETS]; /* of each bucket alone */
    uint64_t total;
    uint64_t sum_ms;
    uint64_t max_ms;
};

/* The upper bound of a bucket < HISTOGRAM_BOUNDS; a duration of just that is in the bucket. */
uint64_t histogram_bound_ms(size_t bucket);

/* Counts one duration. */
void histogram_add(struct histogram *h, uint64_t ms);

/* Adds all that `from` has counted. */
void histogram_merge(struct histogram *h, const struct histogram *from);

/* The duration that so many of a thousand do not exceed (500: the median), within its bucket by
 * interpolation, and never more than the longest one; 0 if nothing was counted. */
uint64_t histogram_quantile_ms(const struct histogram *h, unsigned permille);

#endif
