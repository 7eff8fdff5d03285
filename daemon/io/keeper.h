/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keeper - brings changes of the state to disk without holding the loop up: gathers them, has one
 * batch at a time written in a worker, and tells when that is done; driver. While the disk does not
 * take them it keeps the newest state of each row in memory and tries again every few seconds.
 */
#ifndef IO_KEEPER_H
#define IO_KEEPER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"
#include "state/batch.h"
#include "state/folder.h"

struct keeper;
struct loop;

struct keeper_params {
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
struct keeper_events {
    /* The file turned out to be damaged, or was taken away, and begins anew: whatever was gathered
     * is forgotten. Put all items, facts, objects and marks there are into keeper_batch(). */
    void (*on_lost)(void *arg);
};

/* Somebody who waits for a commit; embedded in what it is about. */
struct keeper_wait {
    struct list link;
    /* durable false: it is not on disk now (nothing is kept, or the disk does not take it): go on
     * without. */
    void (*fn)(struct keeper_wait *w, bool durable);
};

enum keeper_haste {
    KEEPER_SOON, /* within 100 ms: what the server can tell again (objects, versions) */
    KEEPER_NOW,  /* at the end of this turn: what nobody can tell again (marks, pauses) */
};

/* Never NULL; release with keeper_dispose(). Opens nothing before the first batch. */
struct keeper *keeper_create(const struct keeper_params *params, const struct keeper_events *events,
                             void *arg);

/* Where to add operations, until this turn of the loop is over. All that one turn adds is committed
 * together, in its order. */
struct batch *keeper_batch(struct keeper *k, enum keeper_haste haste);

/* Before the first keeper_await(). */
void keeper_wait_init(struct keeper_wait *w, void (*fn)(struct keeper_wait *w, bool durable));

/* Calls w->fn once, in a later turn, when all that was added so far is committed; hurries it. w must
 * not be waiting already, and may be freed inside fn. */
void keeper_await(struct keeper *k, struct keeper_wait *w);

/* w->fn will not be called. Nothing happens if w does not wait. */
void keeper_cancel(struct keeper_wait *w);

/* While it is held, commits count for nobody: who waits goes on waiting, also for what is added until
 * the hold ends. */
void keeper_hold(struct keeper *k, bool held);

/* The end: writes what is there, syncs, and brings all into the one file. done is called once, in a
 * later turn: all = everything is on disk; false also when timeout_ms have passed. What is added
 * later is dropped. Once. */
void keeper_flush(struct keeper *k, uint64_t timeout_ms, void (*done)(void *arg, bool all));

/* What people may know of it. */
struct keeper_status {
    bool is_kept;         /* false: state_dir "none" */
    bool is_writable;     /* true until it is known better */
    const char *reason;   /* why not, as long as k lives and until the next turn; NULL = it is */
    uint64_t failing_ms;  /* since when (monotonic) */
    size_t waiting;       /* operations that are not committed */
    size_t waiting_bytes; /* of memory that they take, bodies left out */
    uint64_t commits;
};

/* See above. */
struct keeper_status keeper_status(const struct keeper *k);

/* The end for the user: *k is NULL, nothing is called any more but release. What was not committed
 * is lost, as by a kill: see keeper_flush(). NULL is fine. */
void keeper_dispose(struct keeper **k);

#endif
