/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table_sum - one sum over the sums of all rows, in a row of its own that each commit writes: what is
 * read is all that was written, no more and no less. Pages that a disk lost or wrote to the wrong
 * place may be sound one by one.
 */
#ifndef STATE_TABLE_SUM_H
#define STATE_TABLE_SUM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/err.h"

struct sqlite3;

struct table_sum {
    uint64_t sum;     /* of the sums of all rows, modulo 2^64 */
    uint64_t commits; /* that the file has */
};

/* Reads it; a file without rows has none, and zeros. */
enum err_kind table_sum_read(struct sqlite3 *db, struct table_sum *t, struct err *err) MUST_CHECK;

/* The same, and from now on *t follows what this connection changes; it must outlive that. Before
 * statements are prepared. */
enum err_kind table_sum_follow(struct sqlite3 *db, struct table_sum *t, struct err *err) MUST_CHECK;

#endif
