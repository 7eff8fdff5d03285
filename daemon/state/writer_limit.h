/* SPDX-License-Identifier: Apache-2.0 */
/*
 * writer_limit - keeps the database file below its limit by dropping rows that a start can best do
 * without; for writer.c (docs/decisions.md "Over its limit the state drops objects, never
 * deliveries").
 */
#ifndef STATE_WRITER_LIMIT_H
#define STATE_WRITER_LIMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "state/writer_sql.h"

/* Zero-initialised except for bytes. */
struct writer_limit {
    uint64_t bytes;    /* the limit */
    uint64_t written;  /* bytes since the size was last looked at */
    uint64_t *starved; /* ids of scopes that keep no objects */
    size_t starved_count;
    size_t dropped_items; /* since the file was begun */
};

/* Adds `written` bytes of a transaction. Once enough came together it looks at the size of the
 * file, and if that is over the limit it drops rows as writer.h says, in a transaction of its own.
 * Call it outside of a transaction; after an error one may be open, so close the connection. Errors
 * as db.h says. */
enum err_kind writer_limit_check(struct writer_limit *l, struct writer_sql_set *set,
                                 uint64_t written, struct err *err) MUST_CHECK;

/* Whether this scope keeps no objects, and no resourceVersion to resume from. */
bool writer_limit_starves(const struct writer_limit *l, uint64_t scope);

/* For a new file: all scopes keep objects again. Frees the memory; the limit stays. */
void writer_limit_reset(struct writer_limit *l);

#endif
