/* SPDX-License-Identifier: Apache-2.0 */
/*
 * delivery_log - what of a queue outlives the process: marks of what its hook was told of each life
 * (docs/design.md "At least once"). They go out as they change, and come back before the first
 * change of their source. Who keeps them is not known here; pure.
 */
#ifndef HOOK_DELIVERY_LOG_H
#define HOOK_DELIVERY_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hook/delivery_queue.h"

/* Bits of delivery_record.note. They are on disk: added to, never changed. */
enum delivery_note {
    DELIVERY_LEFT = 1 << 0,            /* ended: not DELETED but LEFT */
    DELIVERY_UNKNOWN = 1 << 1,         /* ended: the final state is unknown */
    DELIVERY_LAST_WAS_END = 1 << 2,    /* the last run was about an end */
    DELIVERY_SUPERSEDED = 1 << 3,      /* the end waits behind the next life */
    DELIVERY_PARKED = 1 << 4,          /* what was told last is not told again before it changes */
    DELIVERY_HAS_PREDECESSOR = 1 << 5, /* another life of the key was announced before this one */
    DELIVERY_SKIPPED = 1 << 6,         /* handled without a run: existing = "skip" */
    DELIVERY_RENEW = 1 << 7,           /* what was done for it is gone */
    DELIVERY_RELIST = 1 << 8, /* ended: a relist told of it; none of these: the watch did */
    DELIVERY_AUDIT = 1 << 9,
    DELIVERY_RESTART = 1 << 10,
    DELIVERY_CONFIG = 1 << 11,
};

/* The bits above those: when the end was parked first, as delivery_log_minute() says; 0 = it was not. */
enum { DELIVERY_PARKED_AT = 12 };

/* A minute of the wall clock, in 20 bits: 1, 2, ..., and after two years anew. */
uint32_t delivery_log_minute(uint64_t wall_ns);

/* How many minutes have passed since then; 0 if the clock is behind, or that was a year ago. */
uint32_t delivery_log_minutes_since(uint32_t minute, uint64_t wall_ns);

/* What a hook was told of one life of a key; at most two of a key are marked. */
struct delivery_record {
    struct str key; /* empty: that the source is stale */
    struct str uid;
    bool is_handled;   /* a run for it has succeeded, with a state of digest `handled` */
    bool is_delivered; /* a run was started, with a state of digest `told` */
    bool attempted;    /* a run was started since the last success */
    bool is_ended;     /* it is over, and that is still to be told, with `last` */
    uint32_t note;
    struct digest handled; /* both by filter_digest() */
    struct digest delivered;
    struct object *last; /* recalled: NULL = not known; without a body: that is not known */
};

/* Where marks go. What they say is borrowed. */
struct delivery_log_sink {
    /* The mark of (source, key, uid) is this from now on. */
    void (*put)(void *arg, size_t source, const struct delivery_record *m);
    /* There is none any more. */
    void (*drop)(void *arg, size_t source, struct str key, struct str uid);
    /* The hook has seen the source, and marks of what it skipped there were put before. To be kept
     * together with them or behind: else what is there is skipped again, or run as existing. */
    void (*seen)(void *arg, size_t source);
};

/* Puts what has changed since it was put last, and forgets keys of which nothing else is to be
 * known. What a run is about is put before it starts, and when it has ended. */
void delivery_log_put(struct delivery_queue *q, const struct delivery_log_sink *sink, void *arg);

/* All that was put is lost: the next time everything is. */
void delivery_log_touch_all(struct delivery_queue *q);

/* A mark that an earlier process has left, before the first change of the source; wall_ns: now.
 * False: it says nothing, or there are two of the key already; it is ignored. */
bool delivery_log_restore(struct delivery_queue *q, size_t source, const struct delivery_record *m,
                          uint64_t wall_ns);

/* An earlier process has seen the source. Before it is opened. */
void delivery_log_restore_seen(struct delivery_queue *q, size_t source);

/* What the hook did for what is recalled is gone, or the hook is another: all of it is due again,
 * ends are still owed. With keep_skipped nothing was done for what was skipped. Before sources are
 * opened. */
void delivery_log_renew(struct delivery_queue *q, bool keep_skipped);

/* What is recalled of the source, and what it has told so far, is of another one: nothing of it is
 * true. It is not open any more. Entries whose unit is not idle stay until it is. */
void delivery_log_forget(struct delivery_queue *q, size_t source);

/* Was what is due parked, and has nothing changed since? Asked once, when the source is open. */
bool delivery_log_was_parked(const struct delivery_queue *q, struct delivery *dl);

#endif
