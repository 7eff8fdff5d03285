/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loader - reads the state at a start, and finds out whether it is sound; driver of SQLite. It
 * writes nothing unless the tables are of an older release, so it works on a full or read-only
 * disk.
 */
#ifndef STATE_LOADER_H
#define STATE_LOADER_H

#include "base/err.h"
#include "state/folder.h"
#include "state/row.h"

/* The consumer's callbacks. They run inside loader_read(); all arguments are borrowed until the
 * callback returns. */
struct loader_sink {
    /* All items come first, parents before their children. */
    void (*on_item)(void *arg, const struct row_item *item);
    void (*on_fact)(void *arg, const struct row_fact *fact);
    void (*on_object)(void *arg, uint64_t scope, const struct row_object *o);
    void (*on_delivery)(void *arg, const struct row_delivery *m);
};

/* The state that loader_read() found. Unless it is LOADER_STATE, the sink may have got some of the
 * rows, and must throw them away. */
enum loader_found {
    LOADER_NOTHING, /* there is no state yet */
    LOADER_STATE,   /* the sink has got all rows */
    LOADER_ASIDE,   /* the file was damaged, of another program, too new or older than it should
                       be, and was set aside; or somebody deleted it. err says which, and the new
                       name */
    LOADER_FAILED, /* the file cannot be read now, or not be set aside: err says why. A later writer must
                    * begin with batch_reset(). */
};

/* Checks the file and gives all its rows to the sink, before it returns. *err is set for
 * LOADER_ASIDE and LOADER_FAILED. */
enum loader_found loader_read(const struct folder *f, const struct loader_sink *sink, void *arg,
                              struct err *err);

#endif
