/* SPDX-License-Identifier: Apache-2.0 */
/*
 * units - durations, sizes and times as people read them; pure.
 */
#ifndef CTL_UNITS_H
#define CTL_UNITS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

/* Appends "3s", "5m", "7h", "3d": the unit of which there are at least two. */
void units_put_duration(struct buf *out, uint64_t seconds);

/* Appends "512B", "1.2KiB", "16.0MiB". */
void units_put_size(struct buf *out, uint64_t bytes);

/* Reads "2024-05-01T10:20:30[.fraction]Z" as seconds since 1970; false for anything else. */
bool units_parse_time(struct str text, int64_t *seconds) MUST_CHECK;

/* Appends text, with control characters, invisible marks of writing direction and broken UTF-8 as
 * \xNN for each of their bytes, so that it stays on its line and is what it looks like. */
void units_put_visible(struct buf *out, struct str text);

/* How many columns of a terminal the text (valid UTF-8) takes, one for each character. */
size_t units_width(struct str text);

#endif
