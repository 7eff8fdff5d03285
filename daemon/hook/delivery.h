/* SPDX-License-Identifier: Apache-2.0 */
/*
 * delivery - the state of one key for one hook: which state of the object is handled, which is
 * delivered, which is the newest; and how deliveries are added and freed; pure. Only the files of
 * hook/delivery_queue and hook/delivery_log call these functions.
 */
#ifndef HOOK_DELIVERY_H
#define HOOK_DELIVERY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"
#include "base/map.h"
#include "cache/delta.h"
#include "hook/known.h"
#include "hook/scheduler.h"

struct delivery_queue;

/* One event for a run. The object is borrowed from the delivery. */
struct delivery_event {
    enum delta_type type;
    enum delta_cause cause;
    struct object *object;
    bool final_state_unknown;
    uint64_t received_ns;
};

/* What a hook knows of one key of a source. Read-only outside the files of hook/delivery_*, but for
 * work_item, parked_at and parked_ms, which hook_*.c and manual_run.c set. */
struct delivery {
    struct map_node node; /* in by_key of its source */
    size_t source;
    struct known handled;   /* none: no run for this incarnation has succeeded */
    struct known delivered; /* none: no run was started since the last handled DELETED */
    /* Object NULL: not in the cache; a bare object: its state is not known. */
    struct delivery_event newest;
    struct delivery_event pending_delete; /* object not NULL: the delivered incarnation has ended */
    /* Modes batch, snapshot: the next incarnation, delivered by the same run as pending_delete, as
     * long as pending_delete is not handled. */
    struct known successor;
    struct delivery_event successor_delete; /* object not NULL: the successor has ended */
    bool attempted;    /* a run was started since `handled` was set: it may have had effects */
    bool last_was_end; /* the last run delivered an end */
    /* The end of the delivered incarnation waits behind the next incarnation, if there is one
     * (docs/design.md "Superseded deletes"). */
    bool superseded;
    /* The last change made a difference that the filter counts, and something is due. */
    bool counts;
    bool existing; /* Due since the hook first saw the source, and no run for it has ended yet. */
    bool skipped;  /* handled by existing = "skip"; no run was started since */
    bool restored; /* from an earlier process, and no run has ended yet */
    /* The effects of its runs are gone or the hook changed, and no run has succeeded since
     * (docs/design.md "Renewal"). */
    bool renew;
    bool parked; /* its record says parked, and the source is not open yet */
    /* When its end was first parked, as delivery_log_minute() says; 0 = not parked. */
    uint32_t parked_at;
    int64_t parked_ms; /* the same time, monotonic, maybe before the boot; 0 = not known yet */
    bool inherited;    /* its last run was one of an earlier process */
    unsigned pins;     /* events of runs under way that point to this delivery */
    /* `changed` of the runs since `handled` was set, lines of paths; NULL = none. */
    char *delivered_paths;
    struct list pending; /* in queue.pending iff something is due */
    uint64_t pending_since_ms;
    struct work_item *work_item; /* in mode object; else NULL */
    struct list dirty;           /* in queue.dirty iff its records may have changed */
    char *kept[2];               /* uids with a record in hook/delivery_log's sink */
    char key[];
};

/* Do the fields of a delivery agree with each other? False only after a bug of informerd: no input
 * and no row of the state makes a delivery illegal. */
bool delivery_is_legal(const struct delivery_queue *q, const struct delivery *dl);

/* The delivery of a key, made if there is none. */
struct delivery *delivery_add(struct delivery_queue *q, size_t source, struct str key);

/* Frees it, even if something is due or runs point to it. */
void delivery_free(struct delivery_queue *q, struct delivery *dl);

/* Its delivery records may have changed: delivery_log_put() will look at it. */
void delivery_touch(struct delivery_queue *q, struct delivery *dl);

/* A run for it has ended, or nothing is due: it does not count as existing or restored any more. */
void delivery_settled(struct delivery_queue *q, struct delivery *dl);

/* Copies *next into the slot, with a reference to the object (NULL: no event), and drops the old
 * reference. */
void delivery_event_set(struct delivery_event *slot, const struct delivery_event *next);

/* Makes the end of an incarnation of which only the uid is known, or its last known state: DELETED,
 * or FRESH for an outage, with cause `restart`. The event has a reference of its own. */
struct delivery_event delivery_event_over(const struct delivery_queue *q, const struct delivery *dl,
                                          const struct known *incarnation);

#endif
