/* SPDX-License-Identifier: Apache-2.0 */
/*
 * access_report - the output of --check-access: a block for each server, with a row for each check;
 * pure.
 */
#ifndef APP_ACCESS_REPORT_H
#define APP_ACCESS_REPORT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

enum access_verdict {
    ACCESS_OK,
    ACCESS_NOT_OK,
    ACCESS_WARNING, /* works, but a person should know */
    ACCESS_UNKNOWN, /* the server cannot say */
    ACCESS_SKIPPED, /* cannot be checked, as an earlier check is not ok */
    ACCESS_VERDICTS
};

struct access_report;

/* A report without blocks. Never NULL. */
struct access_report *access_report_create(void);

/* Frees *r and sets it to NULL. NULL is fine. */
void access_report_destroy(struct access_report **r);

/* Adds a block with this heading (copied) and returns its number. */
size_t access_report_add_block(struct access_report *r, const char *heading);

/* Adds a row to a block: the name of the check, and its result. The texts are copied; both may come from
 * a server. */
void access_report_add(struct access_report *r, size_t block, enum access_verdict verdict,
                       const char *what, const char *text);

/* Appends the blocks in their order, and a line that sums them up. Control characters and broken UTF-8
 * of the texts become '?', so that each row is one line. */
void access_report_put(struct buf *out, const struct access_report *r);

/* Is no row NOT_OK? */
bool access_report_is_ok(const struct access_report *r) MUST_CHECK;

#endif
