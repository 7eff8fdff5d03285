/* SPDX-License-Identifier: Apache-2.0 */
/*
 * writer_limit - keeps the file of the state below its limit, by dropping what can be missed most
 * easily; for writer.c.
 */
#ifndef STATE_WRITER_LIMIT_H
#define STATE_WRITER_LIMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "state/writer_sql.h"

/* Zero-initialised but for the limit. */
struct writer_limit {
    uint64_t bytes;
    uint64_t written;  /* since the size was looked at */
    uint64_t *starved; /* streams that keep no objects */
    size_t starved_count;
    size_t dropped_items; /* in all */
};

/* Notes what a transaction adds; when that is enough to look, and the file is over the limit, drops
 * what writer.h says. Outside a transaction. */
enum err_kind writer_limit_check(struct writer_limit *l, struct writer_sql_set *set,
                                 uint64_t written, struct err *err) MUST_CHECK;

/* Does this stream keep no objects, and no version to resume from? */
bool writer_limit_starves(const struct writer_limit *l, uint64_t scope);

/* All may keep objects again: a new file. */
void writer_limit_reset(struct writer_limit *l);

#endif
