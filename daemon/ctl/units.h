/* SPDX-License-Identifier: Apache-2.0 */
/*
 * units - writes durations and sizes for people, and reads times; pure.
 */
#ifndef CTL_UNITS_H
#define CTL_UNITS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

/* Appends "3s", "5m", "7h" or "3d", in the largest unit of which there are at least two. */
void units_put_duration(struct buf *out, uint64_t seconds);

/* Appends "512B", "1.2KiB", "16.0MiB". */
void units_put_size(struct buf *out, uint64_t bytes);

/* Reads "2024-05-01T10:20:30[.fraction]Z" as seconds since 1970. False: the text has another
 * form. */
bool units_parse_time(struct str text, int64_t *seconds) MUST_CHECK;

#endif
