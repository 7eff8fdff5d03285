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
    struct histogram all;
    struct histogram window[2]; /* by the number of the window, even or odd */
    uint64_t number;            /* of the window of the last duration: time / LATENCY_WINDOW_MS */
};

/* A change was handled so long after it came. */
void latency_add(struct latency *l, uint64_t ms, uint64_t now_ms);

/* The changes that were handled in the last five to ten minutes. */
struct histogram latency_recent(const struct latency *l, uint64_t now_ms);

#endif
