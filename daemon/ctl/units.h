/* SPDX-License-Identifier: Apache-2.0 */
/*
 * units - writes durations, sizes and texts for people, and reads times; pure.
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

/* Appends text. Each byte of a control character, of an invisible character (such as marks of
 * writing direction) and of broken UTF-8 becomes \xNN, so that the text stays on its line and is
 * the text that it looks like. */
void units_put_visible(struct buf *out, struct str text);

/* The columns of a terminal that the text (valid UTF-8) takes: one for each character. */
size_t units_width(struct str text);

#endif
