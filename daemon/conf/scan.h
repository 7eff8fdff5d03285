/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scan - what libconfig's two generations (1.5, 1.7) see differently, found before either parses
 * the text (docs/design.md "Configuration"); pure. It knows comments, strings and punctuation, no
 * more.
 */
#ifndef CONF_SCAN_H
#define CONF_SCAN_H

#include <stddef.h>

#include "conf/problems.h"

/* Reports NUL bytes, @include (1.5 and 1.7 resolve it differently), trailing commas in arrays and
 * lists (1.5 refuses them, 1.7 does not) and whole numbers over nine digits (1.5 wraps them
 * around), and blanks them in text[0..n) so that the parser can go on and find the rest. file is
 * for messages. */
void scan_text(char *text, size_t n, const char *file, struct problems *p);

#endif
