/* SPDX-License-Identifier: Apache-2.0 */
/*
 * syncer - syncs commits to the disk so that they survive a power cut, without holding the writer
 * up; driver. It has no state: any thread may call it, but only one at a time.
 */
#ifndef STATE_SYNCER_H
#define STATE_SYNCER_H

#include <stdbool.h>

#include "base/compiler.h"
#include "base/err.h"
#include "state/folder.h"

/* Syncs the log, and with it all commits so far. With checkpoint it also moves the log's pages into
 * state.db, which is worth while once hundreds of pages wait: the next commit then begins the log
 * anew, and for that SQLite syncs inside of the writer. ERR_NOT_FOUND: somebody deleted or emptied
 * a file; else as db.h says. */
enum err_kind syncer_run(const struct folder *f, bool checkpoint, struct err *err) MUST_CHECK;

#endif
