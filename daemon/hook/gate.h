/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gate - decides when a hook may see its sources and when it may run: settings require, after and
 * when_stale, and pause; pure. Used by the files of hook/hook and by hook/why alone.
 */
#ifndef HOOK_GATE_H
#define HOOK_GATE_H

#include <stdbool.h>
#include <stdint.h>

#include "hook/hook.h"

/* Opens the gate when enough sources are usable and the hooks in `after` have had their first runs;
 * behind an open gate, opens each synced source. True if the hook saw a source for the first time:
 * the caller schedules its work items. */
bool gate_update(const struct hooks *hs, struct hook *h, uint64_t now_ms);

/* A source was forgotten: closes the gate as it was at the start, unless enough other sources are
 * usable. */
void gate_close(struct hook *h);

/* Tells the scheduler whether the hook's command may run. It may not while the gate is closed, while the
 * hook is paused, starts or retires (enum hook_stage), while one of its sources is incomplete, while too few
 * sources are fresh (when_stale = "wait"), and while stray files are to be removed. */
void gate_block(struct hook *h);

/* A run starts whose snapshot lacks the sources that are not open yet. If an earlier process saw
 * such a source and had it in a snapshot, another snapshot becomes due when it opens. */
void gate_note_lacked(struct hook *h);

/* Did the last snapshot lack such a source? */
bool gate_lacked(const struct hook *h);

/* The first source that is not synced, or NULL. */
const struct hook_source *gate_unsynced(const struct hook *h);
/* The first source that keeps the hook from running because it is stale (when_stale = "wait"), or
 * NULL. */
const struct hook_source *gate_stale(const struct hook *h);

/* The first source that limits.memory keeps objects out of, or NULL. The hook waits for it, whatever
 * `require` says. */
const struct hook_source *gate_incomplete(const struct hook *h);

/* The first hook in `after` whose first runs have not ended, or NULL. */
const struct hook *gate_before(const struct hooks *hs, const struct hook *h);

#endif
