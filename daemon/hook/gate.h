/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gate - when a hook may see its sources and run at all: require, after, when_stale, pause; pure.
 * Used by hook_*, hook and why alone.
 */
#ifndef HOOK_GATE_H
#define HOOK_GATE_H

#include <stdbool.h>
#include <stdint.h>

#include "hook/hook.h"

/* Opens what may be opened: the gate when enough sources are usable and the hooks before it have
 * had their first runs, and each synced source behind an open gate. True if the hook saw a source
 * for the first time: its units are to be scheduled. */
bool gate_update(const struct hooks *hs, struct hook *h, uint64_t now_ms);

/* A source was forgotten: closes the gate, as it was at the start, unless enough other ones are usable. */
void gate_close(struct hook *h);

/* Tells the schedule whether the hook may start runs: not behind a closed gate, not when paused, nor, with
 * when_stale = "wait", when too few sources are fresh, nor before strays are removed that are due. */
void gate_block(struct hook *h);

/* A run starts: a snapshot says nothing of the sources that are not open yet. One that an earlier
 * process has seen, and a snapshot told of, makes another one due when it opens. */
void gate_note_lacked(struct hook *h);

/* Is there such a source? */
bool gate_lacked(const struct hook *h);

/* The first source that is not synced (stale: that is stale and should not be), or NULL. */
const struct hook_source *gate_unsynced(const struct hook *h);
/* See above. */
const struct hook_source *gate_stale(const struct hook *h);

/* The first hook of `after` whose first runs have not ended, or NULL. */
const struct hook *gate_before(const struct hooks *hs, const struct hook *h);

#endif
