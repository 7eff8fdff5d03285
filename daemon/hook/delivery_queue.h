/* SPDX-License-Identifier: Apache-2.0 */
/*
 * delivery_queue - what one hook still has to hear, one entry per key; pure. An entry compares three states
 * of its key: handled (a run for it succeeded), announced (a run with it was started) and newest
 * (in the cache). What is due follows from them, so states in between merge, memory is bounded by
 * keys, and a delete of a delivered object is never lost (docs/design.md "Merging"). That a source
 * is stale is the life of an object of its own, with an empty key: STALE begins it, FRESH ends it.
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

struct delivery_snapshot;

struct delivery_queue_source {
    struct map by_key;
    bool is_open; /* delivery_queue_open() was called */
    bool is_seen; /* it was, by this process or by one before it (hook/delivery_log) */
    bool is_kept; /* the ledger has been told of that */
};

struct delivery_queue {
    const struct filter *filter;
    struct delivery_queue_source *sources;
    size_t source_count;
    struct list pending; /* entries with something due, longest first */
    size_t pending_count;
    size_t existing_left; /* entries marked existing */
    struct list dirty;    /* entries whose marks may have changed (hook/delivery_log) */
    uint64_t restored_ns; /* wall clock: when the last mark was recalled */
};

/* filter is borrowed and must outlive the queue. */
void delivery_queue_init(struct delivery_queue *q, const struct filter *filter,
                         size_t source_count);

/* Drops all entries. */
void delivery_queue_fini(struct delivery_queue *q);

/* DELETED, LEFT or FRESH? */
bool delivery_is_end(enum delta_type type);

/* A change in the cache. Returns the entry, or NULL when nothing is left to know about the key. */
struct delivery *delivery_queue_change(struct delivery_queue *q, size_t source,
                                       const struct delta *d, uint64_t now_ms);

/* The entry of a key, or NULL: nothing is known about it. */
struct delivery *delivery_queue_find(const struct delivery_queue *q, size_t source, struct str key);

/* fn for each entry of a source; it may release the one it is given. */
void delivery_queue_each(struct delivery_queue *q, size_t source,
                         void (*fn)(void *arg, struct delivery *dl), void *arg);

/* The objects of a source as changes have told of them, sorted by key; an array to free, the
 * objects borrowed. That is not all that its cache says: a delete that is still to be confirmed is
 * no change yet (confirm_deletes). */
struct object **delivery_queue_sorted(const struct delivery_queue *q, size_t source,
                                      size_t *n) MUST_CHECK;

/* Is something due for the entry? */
bool delivery_is_due(const struct delivery *dl);

/* What is due, in order: at most DELETED or LEFT of the announced life, then ADDED or MODIFIED; or
 * the ends of two incarnations (docs/design.md "Merging"). Returns how many. */
size_t delivery_events(const struct delivery_queue *q, const struct delivery *dl,
                       struct delivery_event out[2]);

/* What an entry is told again as though nothing is due: its newest state as MODIFIED, or as ADDED
 * if the hook does not take that. False: there is none, or none that the hook takes. */
bool delivery_repeat(const struct delivery_queue *q, const struct delivery *dl,
                     struct delivery_event *out);

/* The state that MODIFIED starts from: the last handled one of this life; NULL = none, or it is not
 * known any more. */
struct object *delivery_base(const struct delivery *dl, const struct delivery_event *ev);

/* A run is told these paths (lines); forgotten when it, or a later one, is handled. */
void delivery_add_paths(struct delivery *dl, struct str lines);

/* Is what is due first something else than what the last run was about (another life, or the end of
 * that one)? Mode object. */
bool delivery_is_new_matter(const struct delivery_queue *q, const struct delivery *dl);

/* A run with this event starts; the entry stays until delivery_release() after delivery_ended(). */
void delivery_started(struct delivery_queue *q, struct delivery *dl,
                      const struct delivery_event *ev);

/* The run with one event of the entry is over; once per delivery_started(), before delivery_handled(). */
void delivery_ended(struct delivery_queue *q, struct delivery *dl);

/* In place of delivery_ended() if it was none: no run for the key has started since the mark was
 * taken, before delivery_started(). Of two events of one run the later one comes first. */
void delivery_not_started(struct delivery_queue *q, struct delivery *dl,
                          const struct delivery_snapshot *was);

/* The run succeeded: what it was about is handled. Its events in order. */
void delivery_handled(struct delivery_queue *q, struct delivery *dl,
                      const struct delivery_event *ev, uint64_t now_ms);

/* The run failed: what it was about is due, though it may not have been before (a rerun). Or it was
 * denied: what is due follows anew. */
void delivery_failed(struct delivery_queue *q, struct delivery *dl, uint64_t now_ms);

/* The end of the announced life, and of its heir if that has ended too, is due no more: nobody is told of
 * it. */
void delivery_give_up(struct delivery_queue *q, struct delivery *dl, uint64_t now_ms);

/* The end of the announced life gives way: the next life is due instead as long as there is one,
 * and once a run for that is started the end is given up undelivered
 * (docs/design.md "Superseded deletes"). A hook that does not take ADDED knows the next life
 * without a run: the end is given up now. */
void delivery_supersede(struct delivery_queue *q, struct delivery *dl, uint64_t now_ms);

/* The hook sees a source for the first time. Before this nothing of it is due, and nothing counts
 * as announced but what the ledger knows. What is due is marked as existing (INFORMERD_REASON), or,
 * with skip, counts as handled (but STALE: what is skipped is not up to date; and what came after
 * an earlier process saw the source). What the ledger knows and is not there is DELETED. Once per
 * source. */
void delivery_queue_open(struct delivery_queue *q, size_t source, bool skip, uint64_t now_ms);

/* Frees the entry if nothing is left to know about its key; true if it did. */
bool delivery_release(struct delivery_queue *q, struct delivery *dl);

#endif
