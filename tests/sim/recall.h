/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recall - what the simulated daemon keeps on a simulated disk: batches of what has changed in a
 * turn, of which a crash loses the last ones; and what it keeps of its watches. Stands where state/,
 * io/state_driver and app/memory_watch stand in the daemon; see marks.h for hooks.
 */
#ifndef SIM_RECALL_H
#define SIM_RECALL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/list.h"
#include "cache/watch.h"
#include "sim/api.h"
#include "sim/setup.h"

enum { RECALL_VERSION = 24, RECALL_SKIPS = 64, RECALL_TEXT = 96 };

/* A mark of an object that is skipped; times 0 = none. */
struct recall_skip {
    size_t part;
    uint64_t times;
    char id[RECALL_TEXT];
    char name[RECALL_TEXT];
    char why[RECALL_TEXT];
};

/* What can be known of a stream. "" = not known. */
struct recall_version {
    bool kept; /* there is one, be it not known */
    bool lost; /* an object is missing */
    char rv[RECALL_VERSION];
    char mark[RECALL_VERSION];
};

/* Something to be kept; embedded in its owner, and freed by free. */
struct recall_op {
    struct list link;
    void (*write)(struct recall_op *op); /* it is on disk; before free */
    void (*free)(struct recall_op *op);
};

struct batch;

struct recall {
    struct clock *clock;
    struct object *objects[WATCHES][API_KEYS]; /* on disk; NULL = none */
    struct recall_skip skips[WATCHES][RECALL_SKIPS];
    struct recall_version versions[WATCHES][API_SPACES];
    struct recall_version last[WATCHES][API_SPACES]; /* as put last, be it not on disk */
    struct batch *first;                             /* on their way there ... */
    struct batch *newest;                            /* ... this one may be of the turn under way */
    bool in_turn;
    uint64_t begun;   /* batches, in all */
    uint64_t written; /* the last one of them that is on disk */
    struct alarm commit;
};

/* An empty disk. */
void recall_init(struct recall *r, struct clock *clock);

/* Frees what it holds. */
void recall_fini(struct recall *r);

/* What watch_events.on_kept says. */
void recall_kept(struct recall *r, size_t number, struct object *o, bool gone);

/* What watch_events.on_skipped says. */
void recall_skipped(struct recall *r, size_t number, const struct skip *s, bool gone);

/* The op goes to disk with all that is put in this turn. */
void recall_put(struct recall *r, struct recall_op *op);

/* The number of the batch that what is put now is in. */
uint64_t recall_number(const struct recall *r);

/* A turn ends in which nothing happened to a watch. now: what was put goes to disk in a moment. */
void recall_end_turn(struct recall *r, bool now);

/* A turn of the daemon in which something may have happened to a watch ends. */
void recall_turn(struct recall *r, size_t number, const struct watch *w);

/* The daemon dies: some of the last batches are lost. */
void recall_crash(struct recall *r);

/* All that was put is on disk: somebody has waited for it, or the daemon ends. */
void recall_sync(struct recall *r);

/* Some object of a watch, and with it the version, is lost for want of room; false: it has none. */
bool recall_lose(struct recall *r, size_t number);

/* Gives a new watch what there is of it; edited: as if its settings were others now. */
void recall_load(struct recall *r, size_t number, struct watch *w, bool edited);

/* Can the stream of such a watch go on without a list? */
bool recall_is_whole(const struct recall *r, size_t number, size_t stream, bool edited);

/* Behind that: a hook knows of this object. False if the watch does, too. As memory_watch_know(). */
bool recall_know(struct watch *w, struct str key, struct str uid);

#endif
