/* SPDX-License-Identifier: Apache-2.0 */
/*
 * delivery_log - the part of a delivery queue that outlives the process: for each incarnation of a key a
 * delivery record of the states that the hook got (docs/design.md "At least once"). Records go out
 * through a sink as they change, and are restored before the first change of their source. The sink's
 * owner decides where they are kept; pure.
 */
#ifndef HOOK_DELIVERY_LOG_H
#define HOOK_DELIVERY_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hook/delivery_queue.h"

/* Bits of delivery_record.note. They are on disk: new ones may be added, none may change its
 * meaning. */
enum delivery_note {
    DELIVERY_LEFT = 1 << 0,         /* ended by LEFT, not by DELETED */
    DELIVERY_UNKNOWN = 1 << 1,      /* ended, and final_state_unknown is set */
    DELIVERY_LAST_WAS_END = 1 << 2, /* the last run delivered an end */
    DELIVERY_SUPERSEDED = 1 << 3,   /* the end waits behind the next incarnation */
    /* Parked: the last delivered event is not delivered again before a change. */
    DELIVERY_PARKED = 1 << 4,
    /* Another incarnation of the key was delivered before this one. */
    DELIVERY_HAS_PREDECESSOR = 1 << 5,
    DELIVERY_SKIPPED = 1 << 6, /* handled without a run, by existing = "skip" */
    DELIVERY_RENEW = 1 << 7,   /* renewed, and no run has succeeded since */
    DELIVERY_RELIST = 1 << 8,  /* the cause of the end; without any of these four bits: `watch` */
    DELIVERY_AUDIT = 1 << 9,
    DELIVERY_RESTART = 1 << 10,
    DELIVERY_CONFIG = 1 << 11,
};

/* The bits from this one on: when the end was first parked, as delivery_log_minute() says; 0 = not
 * parked. */
enum { DELIVERY_PARKED_AT = 12 };

/* A minute of the wall clock in 20 bits: 1, 2, ..., and after two years 1 again. Never 0. */
uint32_t delivery_log_minute(uint64_t wall_ns);

/* How many minutes have passed since then; 0 if the clock is behind that minute, or more than a
 * year has passed. */
uint32_t delivery_log_minutes_since(uint32_t minute, uint64_t wall_ns);

/* The state that a hook got of one incarnation of a key. A key has at most two records. */
struct delivery_record {
    struct str key; /* empty: the outage of the source */
    struct str uid;
    bool is_handled;   /* a run succeeded, for a state with digest `handled` */
    bool is_delivered; /* a run was started, for a state with digest `delivered` */
    bool attempted;    /* a run was started since the last success */
    /* It has ended, and the end is still to be delivered, with the state `last`. */
    bool is_ended;
    uint32_t note;
    struct digest handled; /* this digest and the next one: filter_known_digest() */
    struct digest delivered;
    /* The last state; when restored: NULL = not known, a bare object = its bytes are not known. */
    struct object *last;
};

/* Where delivery records go. They are borrowed until the call returns. */
struct delivery_log_sink {
    /* The record of (source, key, uid) is this one from now on. */
    void (*put)(void *arg, size_t source, const struct delivery_record *m);
    /* There is no such record any more. */
    void (*drop)(void *arg, size_t source, struct str key, struct str uid);
    /* The hook has seen the source; records of the objects that it skipped there were put before.
     * This fact must be committed together with those records or after them: otherwise a restart
     * between the two would skip or run them again. */
    void (*seen)(void *arg, size_t source);
};

/* Puts the records that changed since they were put last, and frees deliveries of which nothing
 * else is left to know. Call it before a run starts, so that its record can be committed, and when
 * it has ended. */
void delivery_log_put(struct delivery_queue *q, const struct delivery_log_sink *sink, void *arg);

/* The sink has lost everything: the next delivery_log_put() puts all records. */
void delivery_log_touch_all(struct delivery_queue *q);

/* Takes a record that an earlier process has left; before the first change of its source. wall_ns
 * is now. False: the record says nothing, or the key has two records already; it is ignored. */
bool delivery_log_restore(struct delivery_queue *q, size_t source, const struct delivery_record *m,
                          uint64_t wall_ns);

/* An earlier process has seen the source. To be called before it is opened. */
void delivery_log_restore_seen(struct delivery_queue *q, size_t source);

/* Renews the hook (docs/design.md "Renewal"): if it takes ADDED, every restored key is due again,
 * and ends that the hook did not handle stay due. With keep_skipped this leaves out objects that
 * existing = "skip" has skipped, as the hook never ran for them. Before sources are opened. */
void delivery_log_renew(struct delivery_queue *q, bool keep_skipped);

/* Forgets the objects of the source, restored or new, because the source belongs to another cluster
 * now. Its outage stays. Closes the source. A delivery is freed when its work item is idle, no run
 * points to it and its records are dropped. */
void delivery_log_forget(struct delivery_queue *q, size_t source);

/* Are the events that are due now those that were delivered last? */
bool delivery_log_repeats(const struct delivery_queue *q, const struct delivery *dl);

/* Was the key parked in an earlier process, with the event that is due now? To be asked once, when
 * the source is open: the answer is forgotten. */
bool delivery_log_was_parked(const struct delivery_queue *q, struct delivery *dl);

#endif
