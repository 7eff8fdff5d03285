/* SPDX-License-Identifier: Apache-2.0 */
/*
 * writer - writes batches to the database file, one transaction for each; driver of SQLite. Any
 * thread may use it, one at a time. It logs nothing. A commit survives the end of the process at
 * once, and a power cut after the next syncer_run().
 */
#ifndef STATE_WRITER_H
#define STATE_WRITER_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "state/batch.h"
#include "state/folder.h"

struct writer;

/* The work of writer_apply() besides writing the batch. */
struct writer_report {
    unsigned wal_pages;    /* pages of the log that wait for a checkpoint */
    size_t dropped_items;  /* unused items that were dropped early because the file was over its
                               limit */
    size_t dropped_scopes; /* scopes whose objects were dropped for the same reason */
};

/* Makes a writer, which opens the file only at the first writer_apply(). folder must outlive it;
 * limit is the number of bytes that the file may use. Never NULL. */
struct writer *writer_create(const struct folder *folder, uint64_t limit);

/* Closes the connection as a kill would, frees the writer and sets *w to NULL. NULL is fine. */
void writer_destroy(struct writer **w);

/* Writes the whole batch or nothing of it. Opens the file if it is not open, and makes or upgrades
 * it. If the file is over its limit afterwards, it drops rows until the file is well below the
 * limit: first items that no configuration has any more, the longest unused first, then the objects
 * of the largest scope. Such a scope keeps no objects and no resourceVersion until the next start,
 * which has to list it. Delivery records of items in use are never dropped (docs/decisions.md "Over
 * its limit the state drops objects, never deliveries"). Errors: as db.h says, and ERR_NOT_FOUND if
 * state.db does not name the file any more; after an error the connection is closed, and the next
 * call opens it anew. */
enum err_kind writer_apply(struct writer *w, const struct batch *b, struct writer_report *report,
                           struct err *err) MUST_CHECK;

/* After ERR_PROTOCOL or ERR_NOT_FOUND: closes the connection and sets the file aside. The next
 * writer_apply() begins an empty file. Errors as folder_set_aside(). */
enum err_kind writer_start_over(struct writer *w, struct err *err) MUST_CHECK;

/* Closes the connection: SQLite moves the log into state.db and syncs it. The writer may be used
 * again. */
void writer_close(struct writer *w);

#endif
