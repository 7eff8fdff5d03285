/* SPDX-License-Identifier: Apache-2.0 */
/*
 * problems - what is wrong with the configuration, collected so that one run shows all of it; pure.
 */
#ifndef CONF_PROBLEMS_H
#define CONF_PROBLEMS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/compiler.h"
#include "conf/where.h"

enum { PROBLEMS_MAX = 100 }; /* kept; the rest is only counted */

/* Zero-initialised is none. */
struct problems {
    struct problem *v;
    size_t n;    /* kept in v */
    size_t more; /* seen beyond PROBLEMS_MAX */
};

/* Adds one; file name and text are copied. The text says what is wrong and what to write instead,
 * without a full stop at its end. */
void problems_add(struct problems *p, struct where at, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* Is there one at this line already? For checks that make no sense of a value that was refused. */
bool problems_has(const struct problems *p, struct where at);

/* How many, with those that were only counted. */
size_t problems_count(const struct problems *p);

/* Appends them as lines "FILE:LINE: text" ("FILE: text" without a line), sorted by file and line;
 * within a line in the order in which they were found. */
void problems_put(struct problems *p, struct buf *out);

/* Forgets all of them and releases the memory. */
void problems_free(struct problems *p);

#endif
