/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reader - walks through a JSON text and hands out its scalars, each with the path to it; pure.
 */
#ifndef CTL_READER_H
#define CTL_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "proto/json_in.h"

/* Scalars inside of more containers than this are passed over. */
enum { READER_DEPTH = 6 };

/* One string, number, true, false or null; borrowed, valid until the callback returns. */
struct leaf {
    struct str path[READER_DEPTH]; /* the names of members; "0", "1", ... in arrays */
    size_t depth;
    enum json_type type;
    struct str text; /* STRING, NUMBER */
};

typedef void reader_cb(void *arg, const struct leaf *leaf);

/* Calls cb for each scalar of one JSON value, in the order of the text. Errors are those of
 * json_in_scan(); scalars before the error were handed out. */
enum err_kind reader_scan(struct str json, reader_cb *cb, void *arg, struct err *err) MUST_CHECK;

/* Is the path to the leaf, without its first `from` parts, this one ("metadata.name")? */
bool reader_leads(const struct leaf *leaf, size_t from, const char *dotted);

/* The whole part of a number, without sign; 0 for anything that is no number. */
uint64_t reader_whole(const struct leaf *leaf);

#endif
