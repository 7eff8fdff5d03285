/* SPDX-License-Identifier: Apache-2.0 */
/*
 * state_driver - brings changes of the state to disk without blocking the loop: gathers them, has
 * one batch at a time written in a worker thread, and says when that is done; driver. While the
 * disk does not take them, it keeps the newest state of each row in memory and tries again every
 * few seconds (docs/design.md "Records on disk").
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

/* Copied by state_driver_create(). */
struct state_driver_params {
    struct loop *loop;
    /* must outlive the loop; NULL: nothing is written (state_dir "none") */
    const struct folder *folder;
    /* folder NULL: why nothing can be written although state_dir is set; else NULL */
    const char *reason;
    /* the file could not be read: its contents are dropped before anything is written */
    bool reset;
    uint64_t limit;    /* the most bytes that the file may have (state/writer.h) */
    uint64_t retry_ms; /* how long to wait before the next try when a write has failed */
    /* releases what a batch holds for the bodies of objects; also called in a turn after dispose */
    batch_release *release;
};

/* The consumer's side; called on a stack of its own. */
struct state_driver_events {
    /* The file was found to be damaged, or was taken away, and begins anew: whatever was gathered
     * is dropped. The receiver puts all items, facts, objects and delivery records that there are
     * into state_driver_batch(). */
    void (*on_lost)(void *arg);
    /* A batch is about to be written: the rows that belong to its changes must be added now, as the
     * process may be killed behind the commit. Not inside state_driver_batch(). NULL: nobody adds
     * anything. */
    void (*on_batch)(void *arg);
};

/* One wait for a commit; embedded in the object that waits. */
struct state_driver_wait {
    struct list link;
    /* durable false: the changes are not on disk now (nothing is written, or the disk does not take
     * them), and the object goes on without them. */
    void (*fn)(struct state_driver_wait *w, bool durable);
};

/* How soon a change must be on disk. */
enum state_driver_haste {
    STATE_DRIVER_SOON, /* within 100 ms: rows that a server can tell again (objects, versions) */
    /* at the end of this turn: rows that nobody can tell again (delivery records, pauses) */
    STATE_DRIVER_NOW,
};

/* Never NULL; release with state_driver_dispose(). Opens no file before the first batch is
 * written. */
struct state_driver *state_driver_create(const struct state_driver_params *params,
                                         const struct state_driver_events *events, void *arg);

/* The batch to add operations to, until this turn of the loop is over. All that one turn adds is
 * committed together, in its order. */
struct batch *state_driver_batch(struct state_driver *d, enum state_driver_haste haste);

/* Prepares w; to be called before the first state_driver_await(). */
void state_driver_wait_init(struct state_driver_wait *w,
                            void (*fn)(struct state_driver_wait *w, bool durable));

/* Calls w->fn once, in a later turn, when all that was added so far is committed; has it written
 * without delay. w must not be waiting already, and may be freed inside fn. */
void state_driver_await(struct state_driver *d, struct state_driver_wait *w);

/* Ends the wait: w->fn will not be called. Nothing happens if w does not wait. */
void state_driver_cancel(struct state_driver_wait *w);

/* While held, no wait ends because of a commit: each goes on until the hold has ended, and then covers
 * the changes that were added until then. app/persist_driver holds while the cluster of stored rows is
 * not known, as a record without its cluster is of no use to a later process. */
void state_driver_hold(struct state_driver *d, bool held);

/* Writes all that was added, syncs, and moves all into the one file, as the process ends. done is
 * called once, in a later turn; all: everything is on disk; false also when timeout_ms have passed.
 * Changes that are added after that are dropped. Call it once. */
void state_driver_flush(struct state_driver *d, uint64_t timeout_ms,
                        void (*done)(void *arg, bool all));

/* The state as the status shows it. */
struct state_driver_status {
    bool is_kept;     /* false: nothing is written (folder NULL) */
    bool is_writable; /* true until a write or a sync has failed */
    /* why the state is not writable, valid until the next turn and as long as the driver lives;
     * NULL = it is writable */
    const char *reason;
    /* since when it is not writable, monotonic; 0 = since the start, or it is */
    uint64_t failing_ms;
    size_t waiting;   /* operations that are not committed yet */
    uint64_t commits; /* commits of this process */
};

/* The status now. */
struct state_driver_status state_driver_status(const struct state_driver *d);

/* The end for the user: *d is NULL, and nothing is called any more but release. Changes that were
 * not committed are lost, as with a kill; state_driver_flush() comes before. NULL is fine. */
void state_driver_dispose(struct state_driver **d);

#endif
