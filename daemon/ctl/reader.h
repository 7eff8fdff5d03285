/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reader - walks through a JSON text and gives its scalars with the way that leads to each; pure.
 */
#ifndef CTL_READER_H
#define CTL_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "proto/json_in.h"

/* What lies deeper is passed over. */
enum { READER_DEPTH = 6 };

/* One string, number, true, false or null; borrowed until the callback returns. */
struct leaf {
    struct str path[READER_DEPTH]; /* names of members; "0", "1", ... in arrays */
    size_t depth;
    enum json_type type;
    struct str text; /* STRING, NUMBER */
};

typedef void reader_cb(void *arg, const struct leaf *leaf);

/* cb runs for each scalar of one JSON value, in order. Errors as json_in_scan(). */
enum err_kind reader_scan(struct str json, reader_cb *cb, void *arg, struct err *err) MUST_CHECK;

/* Does the way to the leaf, from its part at `from` on, read like this ("metadata.name")? */
bool reader_leads(const struct leaf *leaf, size_t from, const char *dotted);

/* What stands in front of the fraction of a number; 0 for anything else. */
uint64_t reader_whole(const struct leaf *leaf);

#endif
