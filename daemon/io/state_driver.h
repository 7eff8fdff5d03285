/* SPDX-License-Identifier: Apache-2.0 */
/*
 * state_driver - brings changes of the state to disk without holding the loop up: gathers them, has one
 * batch at a time written in a worker, and tells when that is done; driver. While the disk does not
 * take them it keeps the newest state of each row in memory and tries again every few seconds.
 */
#ifndef IO_STATE_DRIVER_H
#define IO_STATE_DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"
#include "state/batch.h"
#include "state/folder.h"

struct state_driver;
struct loop;

struct state_driver_params {
    struct loop *loop;
    const struct folder
        *folder;            /* must outlive the loop; NULL: nothing is kept (state_dir "none") */
    const char *reason;     /* folder NULL: why nothing can be kept although it should; else NULL */
    bool reset;             /* the file could not be read: what is in it is forgotten first */
    uint64_t limit;         /* bytes that the file may use (writer.h) */
    uint64_t retry_ms;      /* how long to wait when the disk does not take it */
    batch_release *release; /* of what is held for bodies; also in a later turn than dispose */
};

/* The consumer's side; on a stack of its own. */
struct state_driver_events {
    /* The file turned out to be damaged, or was taken away, and begins anew: whatever was gathered
     * is forgotten. Put all items, facts, objects and marks there are into state_driver_batch(). */
    void (*on_lost)(void *arg);
};

/* Somebody who waits for a commit; embedded in what it is about. */
struct state_driver_wait {
    struct list link;
    /* durable false: it is not on disk now (nothing is kept, or the disk does not take it): go on
     * without. */
    void (*fn)(struct state_driver_wait *w, bool durable);
};

enum state_driver_haste {
    STATE_DRIVER_SOON, /* within 100 ms: what the server can tell again (objects, versions) */
    STATE_DRIVER_NOW,  /* at the end of this turn: what nobody can tell again (marks, pauses) */
};

/* Never NULL; release with state_driver_dispose(). Opens nothing before the first batch. */
struct state_driver *state_driver_create(const struct state_driver_params *params,
                                         const struct state_driver_events *events, void *arg);

/* Where to add operations, until this turn of the loop is over. All that one turn adds is committed
 * together, in its order. */
struct batch *state_driver_batch(struct state_driver *d, enum state_driver_haste haste);

/* Before the first state_driver_await(). */
void state_driver_wait_init(struct state_driver_wait *w,
                            void (*fn)(struct state_driver_wait *w, bool durable));

/* Calls w->fn once, in a later turn, when all that was added so far is committed; hurries it. w must
 * not be waiting already, and may be freed inside fn. */
void state_driver_await(struct state_driver *d, struct state_driver_wait *w);

/* w->fn will not be called. Nothing happens if w does not wait. */
void state_driver_cancel(struct state_driver_wait *w);

/* While it is held, commits count for nobody: who waits goes on waiting, also for what is added until
 * the hold ends. */
void state_driver_hold(struct state_driver *d, bool held);

/* The end: writes what is there, syncs, and brings all into the one file. done is called once, in a
 * later turn: all = everything is on disk; false also when timeout_ms have passed. What is added
 * later is dropped. Once. */
void state_driver_flush(struct state_driver *d, uint64_t timeout_ms,
                        void (*done)(void *arg, bool all));

/* What people may know of it. */
struct state_driver_status {
    bool is_kept;         /* false: state_dir "none" */
    bool is_writable;     /* true until it is known better */
    const char *reason;   /* why not, as long as k lives and until the next turn; NULL = it is */
    uint64_t failing_ms;  /* since when (monotonic) */
    size_t waiting;       /* operations that are not committed */
    size_t waiting_bytes; /* of memory that they take, bodies left out */
    uint64_t commits;
};

/* See above. */
struct state_driver_status state_driver_status(const struct state_driver *d);

/* The end for the user: *k is NULL, nothing is called any more but release. What was not committed
 * is lost, as by a kill: see state_driver_flush(). NULL is fine. */
void state_driver_dispose(struct state_driver **d);

#endif
