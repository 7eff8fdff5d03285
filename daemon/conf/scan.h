/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scan - finds what libconfig 1.5 and 1.7 would read differently, before either of them parses the
 * text (docs/design.md "Configuration"); pure. The scanner knows comments, strings, words, numbers
 * and punctuation; the grammar is left to libconfig.
 */
#ifndef CONF_SCAN_H
#define CONF_SCAN_H

#include <stddef.h>

#include "conf/problems.h"

/* Reports NUL bytes, @include (1.5 and 1.7 resolve it differently), trailing commas in arrays and
 * lists (1.5 refuses them, 1.7 does not) and whole numbers of more than nine digits (1.5 wraps them
 * around). Replaces each of them in text[0..n) by blanks, or a number by 1, so that the parser can
 * go on and find further problems. text[n] must be NUL. file is the name for messages. */
void scan_text(char *text, size_t n, const char *file, struct problems *p);

#endif
