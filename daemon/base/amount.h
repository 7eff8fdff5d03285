/* SPDX-License-Identifier: Apache-2.0 */
/*
 * amount - a whole number with its unit as text, above all durations, as the configuration and the
 * options of both programs write them; pure.
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

/* Reads up to 15 digits and one of the units. The result is at most INT64_MAX, so that a time can
 * be added to it. Returns false for anything else, and leaves *out alone. */
bool amount_parse(const char *text, const struct amount_unit *units, size_t count,
                  uint64_t *out) MUST_CHECK;

/* Appends n in the largest unit in which n is a whole number. units go from small to large, and the
 * first one has factor 1. */
void amount_put(struct buf *out, const struct amount_unit *units, size_t count, uint64_t n);

/* Reads a duration such as "250ms", "5s", "2min", "1h" or "7d", into milliseconds. Otherwise as
 * amount_parse(). */
bool amount_parse_duration(const char *text, uint64_t *ms) MUST_CHECK;

/* Appends a duration of ms milliseconds, as amount_parse_duration() reads it. */
void amount_put_duration(struct buf *out, uint64_t ms);

#endif
