/* SPDX-License-Identifier: Apache-2.0 */
/*
 * queue_entry - what a queue knows of one key, as data, and how entries come and go; pure. The
 * functions are for the files of queue and ledger alone.
 */
#ifndef HOOK_QUEUE_ENTRY_H
#define HOOK_QUEUE_ENTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"
#include "base/map.h"
#include "cache/delta.h"
#include "hook/known.h"
#include "hook/sched.h"

struct queue;

/* One event for a run. The object is borrowed from the entry. */
struct queue_event {
    enum delta_type type;
    enum delta_cause cause;
    struct object *object;
    bool final_state_unknown;
    uint64_t received_ns;
};

/* A key of a source. Read-only outside queue.c, but for the unit. */
struct entry {
    struct map_node node; /* in the map of its source */
    size_t source;
    struct known handled;         /* none: no run for this life has succeeded */
    struct known announced;       /* none: no run was started since the last handled DELETED */
    struct queue_event newest;    /* object NULL: not in the cache; bare: its state is not known */
    struct queue_event gone;      /* object not NULL: the end of the announced life */
    struct known heir;            /* the life announced by a run that told gone as well, as long
                                  as gone is not handled; modes batch, snapshot */
    struct queue_event heir_gone; /* object not NULL: the end of the heir */
    bool open;     /* a run was started since handled was set: it may have had effects */
    bool told_end; /* the last run was about an end */
    bool yields;   /* the end of the announced life waits behind the next life, if there is one */
    bool counts;   /* the newest state changed what is due, as the filter sees it */
    bool existing; /* due since the hook first saw the source, and no run has ended yet */
    bool skipped;  /* existing = "skip" has handled it, and no run was started since */
    bool recalled; /* an earlier process knew it, and no run has ended yet */
    bool renew;    /* what the hook did for it is gone, and no run has succeeded yet */
    bool parked;   /* the ledger says so, and the source is not open yet */
    bool unfit;    /* why its unit is parked: nothing was run, or not to its end */
    uint32_t parked_at; /* when its end was parked first, as ledger_minute() says; 0 = it was not */
    int64_t parked_ms;  /* the same, monotonic, maybe before the boot; 0 = not known yet */
    bool inherited;     /* the last run for it was an earlier process's */
    unsigned pins;      /* events of runs under way that point here */
    char *told; /* lines of paths that runs since handled were told as changed; NULL = none */
    struct list pending; /* on the queue's list iff something is due */
    uint64_t pending_since_ms;
    struct unit unit; /* mode object */
    struct list dirty;
    char *kept[2]; /* uids that the ledger has marks of */
    char key[];
};

/* The entry of a key, made if there is none. */
struct entry *queue_entry_add(struct queue *q, size_t source, struct str key);

/* Frees it, whatever there is to know. */
void queue_entry_free(struct queue *q, struct entry *e);

/* What the ledger keeps of it may have changed. */
void queue_entry_touch(struct queue *q, struct entry *e);

/* It is no longer one of the existing. */
void queue_entry_settled(struct queue *q, struct entry *e);

/* Takes a reference of the event's object (NULL: no event) and drops the old one. */
void queue_event_set(struct queue_event *slot, const struct queue_event *next);

/* The end of a life of which no more is known than that it is over; with a reference of its own. */
struct queue_event queue_event_over(const struct queue *q, const struct entry *e,
                                    const struct known *life);

#endif
