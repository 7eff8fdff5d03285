/* SPDX-License-Identifier: Apache-2.0 */
/*
 * delivery_snapshot - what the start of a run changes in an entry, as it was before: for a start that was
 * none (delivery_not_started()); pure. Used by run and queue alone.
 */
#ifndef HOOK_DELIVERY_SNAPSHOT_H
#define HOOK_DELIVERY_SNAPSHOT_H

#include "hook/delivery_queue.h"

/* As in struct delivery; holds references. Zero-initialised is empty. */
struct delivery_snapshot {
    struct known handled;
    struct known delivered;
    struct known successor;
    struct delivery_event pending_delete;
    char *delivered_paths;
    bool attempted;
    bool last_was_end;
    bool superseded;
    bool skipped;
    bool inherited;
};

/* Notes how the entry is. */
struct delivery_snapshot delivery_snapshot_of(const struct delivery *dl);

/* Frees what it holds. */
void delivery_snapshot_fini(struct delivery_snapshot *m);

#endif
