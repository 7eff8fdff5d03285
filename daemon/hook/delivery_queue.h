/* SPDX-License-Identifier: Apache-2.0 */
/*
 * delivery_queue - the deliveries of one hook, one per key; pure. A delivery compares three states
 * of its key: handled (a run for it succeeded), delivered (a run with it was started) and newest
 * (in the cache). The event that is due follows from these three, so states in between merge,
 * memory is bounded by the number of keys, and the end of a delivered object is never lost
 * (docs/design.md "Merging"). The outage of a source is the incarnation of an object of its own,
 * with an empty key: STALE begins it, FRESH ends it.
 */
#ifndef HOOK_DELIVERY_QUEUE_H
#define HOOK_DELIVERY_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"
#include "base/map.h"
#include "hook/delivery.h"
#include "hook/filter.h"

/* The deliveries of one source of the hook. */
struct delivery_queue_source {
    struct map by_key;
    bool is_open; /* delivery_queue_open() was called, and the source was not forgotten since */
    bool is_seen; /* was open, here or in an earlier process, and was not forgotten since */
    bool is_kept; /* the sink of hook/delivery_log has is_seen */
};

/* Embedded in its hook. */
struct delivery_queue {
    const struct filter *filter;
    struct delivery_queue_source *sources;
    size_t source_count;
    bool keyed;          /* deliveries have work items */
    struct list pending; /* deliveries with something due; the one that waits longest is first */
    size_t pending_count;
    size_t existing_left; /* deliveries whose flag existing is set */
    struct list dirty;    /* deliveries whose records may have changed (hook/delivery_log) */
    uint64_t restored_ns; /* wall clock: when the last delivery record was restored */
};

/* Makes it empty. filter is borrowed and must outlive the queue. keyed: mode object, where each
 * delivery has a work item. */
void delivery_queue_init(struct delivery_queue *q, const struct filter *filter, size_t source_count,
                         bool keyed);

/* Frees all deliveries. */
void delivery_queue_fini(struct delivery_queue *q);

/* Does the event end an incarnation: DELETED, LEFT or FRESH? */
bool delivery_is_end(enum delta_type type);

/* Takes note of a change in the cache. Returns the delivery, or NULL if nothing is left to know
 * about the key. *counts: something is due, and the change made a difference there that the filter
 * counts. */
struct delivery *delivery_queue_change(struct delivery_queue *q, size_t source,
                                       const struct delta *d, bool *counts, uint64_t now_ms);

/* The delivery of a key, or NULL: the hook knows nothing about it. */
struct delivery *delivery_queue_find(const struct delivery_queue *q, size_t source, struct str key);

/* The delivery of a key, made if there is none: before a change or a record of it is taken in. */
struct delivery *delivery_add(struct delivery_queue *q, size_t source, struct str key);

/* Calls fn for each delivery of a source; fn may release the delivery that it gets. */
void delivery_queue_each(struct delivery_queue *q, size_t source,
                         void (*fn)(void *arg, struct delivery *dl), void *arg);

/* The objects of a source as changes have brought them to the hook, sorted by key; an array that
 * the caller frees, of borrowed objects. The cache may be ahead: a delete that waits for
 * confirm_deletes has left the cache and is no change yet. */
struct object **delivery_queue_sorted(const struct delivery_queue *q, size_t source,
                                      size_t *n) MUST_CHECK;

/* Is something due for the key? */
bool delivery_is_due(const struct delivery *dl);

/* Puts the events that are due into out, in order: at most DELETED or LEFT of the delivered
 * incarnation, then ADDED or MODIFIED; or the ends of two incarnations (docs/design.md "Merging").
 * Returns how many. The objects are borrowed. */
size_t delivery_events(const struct delivery_queue *q, const struct delivery *dl,
                       struct delivery_event out[2]);

/* The event of a rerun for a key for which nothing is due: its newest state as MODIFIED, or as
 * ADDED if the hook does not take MODIFIED. False: there is no object with a known state, its
 * source is not open, or the hook takes neither. */
bool delivery_repeat(const struct delivery_queue *q, const struct delivery *dl,
                     struct delivery_event *out);

/* The state that a MODIFIED is compared with: the last handled one of this incarnation, borrowed.
 * NULL: there is none, or only an earlier process knew it. */
struct object *delivery_base(const struct delivery *dl, const struct delivery_event *ev);

/* A run gets these paths (lines) as `changed`. They replace those of earlier runs, and are
 * forgotten when this run or a later one is handled. */
void delivery_set_paths(struct delivery *dl, struct str lines);

/* Mode object: is the event that is due first about something else than the last run: a state
 * instead of an end, or an end instead of a state? True also if no run has delivered this key. */
bool delivery_is_new_matter(const struct delivery_queue *q, const struct delivery *dl);

/* A run with this event starts. The delivery stays at least until delivery_ended() or
 * delivery_not_started(), and then delivery_release(). */
void delivery_started(struct delivery_queue *q, struct delivery *dl,
                      const struct delivery_event *ev);

/* The run with one event of the delivery is over. Once per delivery_started(), and before
 * delivery_handled() or delivery_failed(). */
void delivery_ended(struct delivery_queue *q, struct delivery *dl);

/* In place of delivery_ended() if the run could not be started: puts the delivery back to the
 * snapshot that was taken before delivery_started(). Of two events of one run the later one comes
 * first. */
void delivery_not_started(struct delivery_queue *q, struct delivery *dl,
                          const struct delivery_snapshot *was);

/* The run succeeded: its event is handled. Called for the events of a run in order. */
void delivery_handled(struct delivery_queue *q, struct delivery *dl,
                      const struct delivery_event *ev, uint64_t now_ms);

/* The run failed, or was not started: finds out anew which event is due. After a failed rerun the object
 * is due, although it was not before. */
void delivery_failed(struct delivery_queue *q, struct delivery *dl, uint64_t now_ms);

/* Gives the end of the delivered incarnation up, and that of its successor if that one has ended,
 * too: no run delivers them any more. */
void delivery_give_up(struct delivery_queue *q, struct delivery *dl, uint64_t now_ms);

/* Supersedes the end of the delivered incarnation: the next incarnation is due instead, as long as
 * there is one. Once a run for it starts, the end is given up undelivered
 * (docs/design.md "Superseded deletes"). For a hook that does not take ADDED the next incarnation
 * counts as delivered without a run, so the end is given up now. */
void delivery_supersede(struct delivery_queue *q, struct delivery *dl, uint64_t now_ms);

/* The hook sees a source for the first time, or for the first time after delivery_log_forget(). Not
 * while it is open. Before this nothing of the source is
 * due, and nothing counts as delivered but restored records. Keys that are due now are marked as
 * existing (INFORMERD_REASON). With skip they count as handled instead, but not STALE, as the
 * skipped objects are not up to date then, and not objects that came after an earlier process had
 * seen the source. A restored incarnation that is not there any more becomes DELETED. */
void delivery_queue_open(struct delivery_queue *q, size_t source, bool skip, uint64_t now_ms);

/* Frees the delivery if nothing is left to know about its key, no run points to it and no record of
 * it is kept; true if it did. */
bool delivery_release(struct delivery_queue *q, struct delivery *dl);

#endif
