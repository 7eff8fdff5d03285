/* SPDX-License-Identifier: Apache-2.0 */
/*
 * amount - a whole number and its unit as text, above all durations, as the configuration and the
 * options of both programs have them; pure.
 */
#ifndef BASE_AMOUNT_H
#define BASE_AMOUNT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/compiler.h"

struct amount_unit {
    const char *name;
    uint64_t factor;
};

/* Reads up to 15 digits and one of the units; at most INT64_MAX, so that a time may be added. False,
 * and *out is left alone, for anything else. */
bool amount_parse(const char *text, const struct amount_unit *units, size_t count,
                  uint64_t *out) MUST_CHECK;

/* Appends n in the largest unit that keeps it whole; units are ordered from small to large. */
void amount_put(struct buf *out, const struct amount_unit *units, size_t count, uint64_t n);

/* "250ms", "5s", "2min", "1h", "7d": in milliseconds. */
bool amount_parse_duration(const char *text, uint64_t *ms) MUST_CHECK;

/* Appends a duration in the largest unit that keeps it whole. */
void amount_put_duration(struct buf *out, uint64_t ms);

#endif
