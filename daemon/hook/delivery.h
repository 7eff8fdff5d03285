/* SPDX-License-Identifier: Apache-2.0 */
/*
 * delivery - what a queue knows of one key, as data, and how entries come and go; pure. The
 * functions are for the files of queue and ledger alone.
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

/* One event for a run. The object is borrowed from the entry. */
struct delivery_event {
    enum delta_type type;
    enum delta_cause cause;
    struct object *object;
    bool final_state_unknown;
    uint64_t received_ns;
};

/* A key of a source. Read-only outside delivery_queue.c, but for the unit. */
struct delivery {
    struct map_node node; /* in the map of its source */
    size_t source;
    struct known handled;         /* none: no run for this life has succeeded */
    struct known delivered;       /* none: no run was started since the last handled DELETED */
    struct delivery_event newest; /* object NULL: not in the cache; bare: its state is not known */
    struct delivery_event pending_delete; /* object not NULL: the end of the announced life */
    struct known successor; /* the life announced by a run that told gone as well, as long
                                  as gone is not handled; modes batch, snapshot */
    struct delivery_event successor_delete; /* object not NULL: the end of the heir */
    bool attempted;    /* a run was started since handled was set: it may have had effects */
    bool last_was_end; /* the last run was about an end */
    bool superseded; /* the end of the announced life waits behind the next life, if there is one */
    bool counts;     /* the newest state changed what is due, as the filter sees it */
    bool existing;   /* due since the hook first saw the source, and no run has ended yet */
    bool skipped;    /* existing = "skip" has handled it, and no run was started since */
    bool restored;   /* an earlier process knew it, and no run has ended yet */
    bool renew;      /* what the hook did for it is gone, and no run has succeeded yet */
    bool parked;     /* the ledger says so, and the source is not open yet */
    bool unfit;      /* why its unit is parked: nothing was run, or not to its end */
    uint32_t
        parked_at; /* when its end was parked first, as delivery_log_minute() says; 0 = it was not */
    int64_t parked_ms; /* the same, monotonic, maybe before the boot; 0 = not known yet */
    bool inherited;    /* the last run for it was an earlier process's */
    unsigned pins;     /* events of runs under way that point here */
    char *
        delivered_paths; /* lines of paths that runs since handled were told as changed; NULL = none */
    struct list pending; /* on the queue's list iff something is due */
    uint64_t pending_since_ms;
    struct work_item work_item; /* mode object */
    struct list dirty;
    char *kept[2]; /* uids that the ledger has marks of */
    char key[];
};

/* The entry of a key, made if there is none. */
struct delivery *delivery_add(struct delivery_queue *q, size_t source, struct str key);

/* Frees it, whatever there is to know. */
void delivery_free(struct delivery_queue *q, struct delivery *dl);

/* What the ledger keeps of it may have changed. */
void delivery_touch(struct delivery_queue *q, struct delivery *dl);

/* It is no longer one of the existing. */
void delivery_settled(struct delivery_queue *q, struct delivery *dl);

/* Takes a reference of the event's object (NULL: no event) and drops the old one. */
void delivery_event_set(struct delivery_event *slot, const struct delivery_event *next);

/* The end of a life of which no more is known than that it is over; with a reference of its own. */
struct delivery_event delivery_event_over(const struct delivery_queue *q, const struct delivery *dl,
                                          const struct known *incarnation);

#endif
