/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table_sum - one sum over the checksums of all rows, in a row of its own that each commit writes;
 * driver of SQLite. The loader compares it with the rows that it read: pages that a disk lost, or
 * wrote to the wrong place, may be sound one by one (docs/decisions.md "Each commit writes a
 * checksum over all rows").
 */
#ifndef STATE_TABLE_SUM_H
#define STATE_TABLE_SUM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/err.h"

struct sqlite3;

struct table_sum {
    uint64_t sum;     /* of the checksums of all rows, modulo 2^64 */
    uint64_t commits; /* the number of commits so far */
};

/* Reads the sum from the file; zeros if the file has none yet. */
enum err_kind table_sum_read(struct sqlite3 *db, struct table_sum *t, struct err *err) MUST_CHECK;

/* Reads the sum, and from now on updates t->sum with each change that this connection makes; t must
 * outlive the connection. Call it before statements are prepared. t->commits is for the caller to
 * count. */
enum err_kind table_sum_follow(struct sqlite3 *db, struct table_sum *t, struct err *err) MUST_CHECK;

#endif
