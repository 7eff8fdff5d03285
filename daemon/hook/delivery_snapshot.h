/* SPDX-License-Identifier: Apache-2.0 */
/*
 * delivery_snapshot - the part of a delivery that the start of a run changes, as it was before: so
 * that a run that could not be started leaves no trace (delivery_not_started()); pure. Used by
 * hook/run and hook/delivery_queue alone.
 */
#ifndef HOOK_DELIVERY_SNAPSHOT_H
#define HOOK_DELIVERY_SNAPSHOT_H

#include "hook/delivery_queue.h"

/* The members of struct delivery and its ends with these names; holds references. Zero-initialised
 * is empty. */
struct delivery_snapshot {
    enum delivered_state state;
    bool last_was_end;
    bool inherited;
    struct known handled;
    struct known delivered;
    struct known successor;
    struct delivery_event pending_delete;
    char *delivered_paths;
};

/* Copies the delivery as it is now. Free with delivery_snapshot_fini(). */
struct delivery_snapshot delivery_snapshot_of(const struct delivery *dl);

/* Drops the references and frees the paths. */
void delivery_snapshot_fini(struct delivery_snapshot *m);

#endif
