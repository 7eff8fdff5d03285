/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loader - reads the state at a start, and finds out whether it is sound; driver of SQLite. It writes
 * nothing unless the tables are of an older release, so it works on a full or read-only disk.
 */
#ifndef STATE_LOADER_H
#define STATE_LOADER_H

#include "base/err.h"
#include "state/folder.h"
#include "state/row.h"

/* The consumer's side; everything is borrowed until it returns. */
struct loader_sink {
    /* All items come first, parents before what belongs to them. */
    void (*on_item)(void *arg, const struct row_item *item);
    void (*on_fact)(void *arg, const struct row_fact *fact);
    void (*on_object)(void *arg, uint64_t scope, const struct row_object *o);
    void (*on_delivery)(void *arg, const struct row_delivery *m);
};

/* Of all but LOADER_STATE: the sink may have been told a part of it. What it made of that is void. */
enum loader_found {
    LOADER_NOTHING, /* there is no state yet */
    LOADER_STATE,   /* the sink has all of it */
    LOADER_ASIDE,   /* it is damaged, foreign, too new or older than it should be, and was set
                       aside, or it is gone: err says what and where to */
    LOADER_FAILED, /* it cannot be read now, or not be set aside: err says why. Whoever writes later
                       begins with batch_reset(). */
};

/* Checks the file and gives all of it to the sink, in this call. */
enum loader_found loader_read(const struct folder *f, const struct loader_sink *sink, void *arg,
                              struct err *err);

#endif
