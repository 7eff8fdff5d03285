/* SPDX-License-Identifier: Apache-2.0 */
/*
 * delivery - the state of one key for one hook: which state of the object is handled, which is
 * delivered, which is the newest; pure. hook/delivery_queue and hook/delivery_log change
 * deliveries; other modules only call delivery_touch() and delivery_settled().
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
#include "hook/work_item.h"

struct delivery_queue;

/* One event for a run. The object is borrowed from the delivery. */
struct delivery_event {
    struct object *object;
    uint64_t received_ns;
    enum delta_type type : 8;
    enum delta_cause cause : 8;
    bool final_state_unknown;
};

/* How far the delivered incarnation has come with the hook
 * (ARCHITECTURE.md "What is due for a key" says what goes with each state). */
enum delivered_state {
    DELIVERED_NOTHING,     /* no run was started since the last handled end */
    DELIVERED_ATTEMPTED,   /* a run was started; none has succeeded */
    DELIVERED_HANDLED,     /* a run succeeded, or none was needed, and none was started since */
    DELIVERED_SKIPPED,     /* handled without a run, by existing = "skip" */
    DELIVERED_REATTEMPTED, /* handled; a run was started since and may have had effects */
    /* An earlier process has delivered it; the effects of its runs are gone or the hook changed, and
     * no run was started since (docs/design.md "Renewal"). */
    DELIVERED_RENEWED,
    /* Attempted; its end waits behind the next incarnation, if there is one
     * (docs/design.md "Superseded deletes"). */
    DELIVERED_SUPERSEDED,
    /* Attempted; a run with its end has delivered the next incarnation, too. */
    DELIVERED_FOLLOWED,
};

/* The part of a delivery that is there only as long as an end is to be delivered. */
struct delivery_ends {
    struct delivery_event pending_delete; /* object not NULL: the delivered incarnation has ended */
    struct known successor;               /* FOLLOWED: the next incarnation */
    struct delivery_event successor_delete; /* object not NULL: the successor has ended */
    /* When pending_delete was first parked, as delivery_log_minute() says; 0 = not parked. */
    uint32_t parked_at;
    /* If parked_at is not 0: the same time, monotonic, maybe before the boot; 0 = not known yet. */
    int64_t parked_ms;
};

/* One key of a source, as a hook knows it. Read-only outside the files of hook/delivery_*, but for
 * the work item, and parked_at and parked_ms (hook/hook_parked). */
struct delivery {
    struct map_node node; /* in by_key of its source */
    struct list pending;  /* in queue.pending iff something is due */
    struct list dirty;    /* in queue.dirty iff its records may have changed */
    uint64_t pending_since_ms;
    /* Object NULL: not in the cache; a bare object: its state is not known. */
    struct delivery_event newest;
    struct known delivered;     /* the state that a run delivered last; none in NOTHING */
    struct known handled;       /* of the same incarnation; in HANDLED, SKIPPED, REATTEMPTED */
    struct delivery_ends *ends; /* NULL: neither an end nor a successor */
    /* `changed` of the runs since `handled` was set, lines of paths; NULL = none. */
    char *delivered_paths;
    struct work_item *work_item; /* in mode object; else NULL */
    char *kept[2];               /* uids with a record in hook/delivery_log's sink */
    uint32_t source;
    enum delivered_state state : 8;
    uint8_t pins;          /* events of runs under way that point to this delivery */
    bool last_was_end : 1; /* the last run delivered an end */
    bool inherited : 1;    /* its last run was one of an earlier process */
    /* From an earlier process, no run has ended yet, and something may still be due. */
    bool restored : 1;
    /* Due since the hook first saw the source, and no run for it has ended yet. */
    bool existing : 1;
    /* The effects of its runs are gone or the hook changed, and no run has succeeded since. */
    bool renew : 1;
    bool parked : 1; /* its record says parked, and delivery_log_was_parked() was not asked yet */
    char key[];
};

/* The part of a delivery that the start of a run changes, as it was before: so that a run that could
 * not be started leaves no trace (delivery_not_started()). Holds references; zero-initialised is
 * empty. */
struct delivery_snapshot {
    enum delivered_state state;
    bool last_was_end;
    bool inherited;
    bool existing; /* the run is a first run (is_first_run_over() in hook/hook_end) */
    struct known handled;
    struct known delivered;
    struct known successor;
    struct delivery_event pending_delete;
    char *delivered_paths;
};

/* Do the fields of a delivery agree with each other? False only after a bug of informerd: no input
 * and no row of the state makes a delivery illegal. */
bool delivery_is_legal(const struct delivery_queue *q, const struct delivery *dl);

/* Was a run started since `handled` was set, which may have had effects? */
static inline bool delivery_is_attempted(const struct delivery *dl)
{
    return dl->state == DELIVERED_ATTEMPTED || dl->state == DELIVERED_REATTEMPTED ||
           dl->state == DELIVERED_SUPERSEDED || dl->state == DELIVERED_FOLLOWED;
}

/* The end of the delivered incarnation, borrowed; NULL: it has not ended. */
static inline const struct delivery_event *delivery_end(const struct delivery *dl)
{
    bool ended = dl->ends != NULL && dl->ends->pending_delete.object != NULL;

    return ended ? &dl->ends->pending_delete : NULL;
}

/* dl->ends, made if there are none. */
struct delivery_ends *delivery_ends_of(struct delivery *dl);

/* Frees dl->ends if it holds neither an end nor a successor. */
void delivery_ends_trim(struct delivery *dl);

/* Frees dl->ends with all that it holds. */
void delivery_ends_drop(struct delivery *dl);

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

/* Copies the delivery as it is now. Free with delivery_snapshot_fini(). */
struct delivery_snapshot delivery_snapshot_of(const struct delivery *dl);

/* Drops the references and frees the paths. */
void delivery_snapshot_fini(struct delivery_snapshot *m);

#endif
