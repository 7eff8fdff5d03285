/* SPDX-License-Identifier: Apache-2.0 */
/*
 * latency - how long it takes from a change until a hook has handled it: since the start, and in the
 * last minutes; pure.
 */
#ifndef HOOK_LATENCY_H
#define HOOK_LATENCY_H

#include <stdint.h>

#include "base/histogram.h"

/* "The last minutes" are this window, as far as it is over, and the one before. */
#define LATENCY_WINDOW_MS (UINT64_C(5) * 60 * 1000)

/* Zero-initialised is empty. */
struct latency {
    struct histogram older;     /* than both windows */
    struct histogram window[2]; /* by the number of the window, even or odd */
    uint64_t number;            /* of the window of the last duration: time / LATENCY_WINDOW_MS */
};

/* Where to add (histogram_add()) how long after they came changes are handled now. A run that has many
 * changes asks once. Valid for this now_ms. */
struct histogram *latency_window(struct latency *l, uint64_t now_ms);

/* All changes that were handled since the start. */
struct histogram latency_all(const struct latency *l);

/* The changes that were handled in the last five to ten minutes. */
struct histogram latency_recent(const struct latency *l, uint64_t now_ms);

#endif
