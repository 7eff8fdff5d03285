/* SPDX-License-Identifier: Apache-2.0 */
/*
 * syncer - makes what was committed survive a power cut, beside the writer and without holding it
 * up; driver. Stateless: any thread may call it, one at a time.
 */
#ifndef STATE_SYNCER_H
#define STATE_SYNCER_H

#include <stdbool.h>

#include "base/compiler.h"
#include "base/err.h"
#include "state/folder.h"

/* Syncs all commits that are done. checkpoint: moves them from the log into the file as well; worth
 * while once thousands of pages wait, for the next commit then begins the log anew, which costs the
 * writer one sync. ERR_NOT_FOUND: somebody took the file away; else as db.h says. */
enum err_kind syncer_run(const struct folder *f, bool checkpoint, struct err *err) MUST_CHECK;

#endif
