/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rate - does enough come? Judged by windows in which something came; silence is for others to
 * judge, and counts up to a bound. Pure.
 */
#ifndef BASE_RATE_H
#define BASE_RATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

/* Zero-initialise but for the first three. */
struct rate {
    uint64_t window_ms; /* in so much time .. */
    size_t bytes;       /* .. must come so much */
    uint64_t pause_ms;  /* of a longer silence no more counts as time */
    uint64_t heard_ms;  /* when something came last */
    uint64_t took_ms;   /* of the window under way */
    size_t came;        /* in it */
};

/* From now on. */
void rate_begin(struct rate *r, uint64_t now_ms);

/* n bytes came. False: a window is over in which less than enough did. */
bool rate_add(struct rate *r, size_t n, uint64_t now_ms) MUST_CHECK;

#endif
