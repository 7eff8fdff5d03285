/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rate - finds out whether bytes come fast enough; pure. Time counts in windows. Of a long silence
 * only a bounded part counts: whether a silence is too long is for others to judge.
 */
#ifndef BASE_RATE_H
#define BASE_RATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

/* Zero-initialise all but the first three. */
struct rate {
    uint64_t window_ms; /* the length of a window */
    size_t bytes;       /* so many bytes must come in a window */
    uint64_t pause_ms;  /* a longer silence counts as this much time */
    uint64_t heard_ms;  /* when bytes came last */
    uint64_t took_ms;   /* time that counts for the current window */
    size_t came;        /* bytes in the current window */
};

/* Begins to measure now. */
void rate_begin(struct rate *r, uint64_t now_ms);

/* Takes note of n bytes. Returns false if a window has ended with fewer than r->bytes. */
bool rate_add(struct rate *r, size_t n, uint64_t now_ms) MUST_CHECK;

#endif
