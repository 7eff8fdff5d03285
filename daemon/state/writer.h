/* SPDX-License-Identifier: Apache-2.0 */
/*
 * writer - brings batches to disk, one transaction each; driver of SQLite. One thread at a time may
 * use it, whichever; nothing is logged here. A commit survives the end of the process at once, and a
 * power cut after the next syncer_run().
 */
#ifndef STATE_WRITER_H
#define STATE_WRITER_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "state/batch.h"
#include "state/folder.h"

struct writer;

/* What a batch led to. */
struct writer_report {
    unsigned wal_pages;     /* that wait for a checkpoint */
    size_t dropped_items;   /* unused ones that went before their time, as the limit was reached */
    size_t dropped_streams; /* those whose objects went for the same reason */
};

/* Opens nothing yet. folder must outlive it; limit: bytes that the file may use. Never NULL. */
struct writer *writer_create(const struct folder *folder, uint64_t limit);

/* Closes its connection as a kill would, frees it, and sets *w to NULL. NULL is fine. */
void writer_destroy(struct writer **w);

/* Writes all of the batch or nothing of it; opens the file when that is not done yet, and makes or
 * upgrades it. Over the limit it drops what can be missed most easily: first what no configuration
 * has any more, longest first, then objects, the largest stream first. Such a stream keeps none, and
 * no version, until the next start, which has to list it; marks are never dropped. Errors: as db.h says; after one the connection is closed, and opened anew by the
 * next call. */
enum err_kind writer_apply(struct writer *w, const struct batch *b, struct writer_report *report,
                           struct err *err) MUST_CHECK;

/* After ERR_PROTOCOL, or when the file is gone: sets it aside. The next writer_apply() begins an
 * empty one. */
enum err_kind writer_start_over(struct writer *w, struct err *err) MUST_CHECK;

/* Closes its connection with all in one file, and synced. It may be used again. */
void writer_close(struct writer *w);

#endif
