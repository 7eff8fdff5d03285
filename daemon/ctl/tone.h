/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tone - the colours of informerctl: which cell of which table has one, and how a terminal is told;
 * pure.
 */
#ifndef CTL_TONE_H
#define CTL_TONE_H

#include <stdbool.h>

#include "base/buf.h"

enum tone {
    TONE_PLAIN,
    TONE_HEADING, /* bold */
    TONE_WAITS,   /* yellow: it ends by itself, or a person has asked for it */
    TONE_BAD,     /* red: a person is needed */
};

/* The tone of a cell with this text below this heading. */
enum tone tone_of_cell(const char *heading, const char *text);

/* Is the text of a cell more than nothing: not "-", "0" or "no"? */
bool tone_says_something(const char *text);

/* Appends the text in this tone; without colours, the text alone. The text must not have more than
 * one line. */
void tone_put(struct buf *out, bool colour, enum tone tone, struct str text);

#endif
