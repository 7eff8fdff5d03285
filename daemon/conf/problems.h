/* SPDX-License-Identifier: Apache-2.0 */
/*
 * problems - all that is wrong with the configuration, collected so that one start of informerd
 * shows everything; pure.
 */
#ifndef CONF_PROBLEMS_H
#define CONF_PROBLEMS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/compiler.h"
#include "conf/where.h"

enum { PROBLEMS_MAX = 100 }; /* kept; the rest is only counted */

/* Zero-initialised, it holds no problem. */
struct problems {
    struct problem *v;
    size_t n;         /* kept in v */
    size_t more;      /* seen beyond PROBLEMS_MAX */
    const char *mark; /* put before each text, such as "warning: "; borrowed; NULL = nothing */
};

/* Adds a problem; file name and text are copied. The text says what is wrong and what to write
 * instead, without a full stop at its end. */
void problems_add(struct problems *p, struct where at, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* Is there a problem at this line already? A check of several settings asks this first: a value
 * that was refused has kept its default, and the check would report a second problem that is none.
 * A place without a file (a default) never has a problem. */
bool problems_has(const struct problems *p, struct where at);

/* The number of problems, with those that were only counted. */
size_t problems_count(const struct problems *p);

/* Appends the problems as lines "FILE:LINE: text" ("FILE: text" without a line), with the mark before the
 * text, sorted by file and line; within a line in the order in which they were found. A last line says how
 * many more there are. Sorts p->v. */
void problems_put(struct problems *p, struct buf *out);

/* Forgets all of them and releases the memory. */
void problems_free(struct problems *p);

#endif
