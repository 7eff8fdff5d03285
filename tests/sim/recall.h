/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recall - what the simulated daemon keeps on a simulated disk: batches of what has changed in a
 * turn, of which a crash loses the last ones; and what it keeps of its watches. Stands where state/,
 * io/state_driver and app/persist_watch stand in the daemon; see marks.h for hooks.
 */
#ifndef SIM_RESTORE_H
#define SIM_RESTORE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/list.h"
#include "cache/watch.h"
#include "sim/api.h"
#include "sim/setup.h"

enum { RESTORE_VERSION = 24, RESTORE_SKIPS = 64, RESTORE_TEXT = 96 };

/* A mark of an object that is skipped; times 0 = none. */
struct restore_skip {
    size_t part;
    uint64_t times;
    char id[RESTORE_TEXT];
    char name[RESTORE_TEXT];
    char why[RESTORE_TEXT];
};

/* What can be known of a stream. "" = not known. */
struct restore_version {
    bool kept; /* there is one, be it not known */
    bool lost; /* an object is missing */
    char rv[RESTORE_VERSION];
    char mark[RESTORE_VERSION];
};

/* Something to be kept; embedded in its owner, and freed by free. */
struct restore_op {
    struct list link;
    void (*write)(struct restore_op *op); /* it is on disk; before free */
    void (*free)(struct restore_op *op);
};

struct batch;

struct restore {
    struct clock *clock;
    struct object *objects[WATCHES][API_KEYS]; /* on disk; NULL = none */
    struct restore_skip skips[WATCHES][RESTORE_SKIPS];
    struct restore_version versions[WATCHES][API_SPACES];
    struct restore_version last[WATCHES][API_SPACES]; /* as put last, be it not on disk */
    struct batch *first;                              /* on their way there ... */
    struct batch *newest; /* ... this one may be of the turn under way */
    bool in_turn;
    uint64_t begun;   /* batches, in all */
    uint64_t written; /* the last one of them that is on disk */
    struct alarm commit;
};

/* An empty disk. */
void restore_init(struct restore *r, struct clock *clock);

/* Frees what it holds. */
void restore_fini(struct restore *r);

/* What watch_events.on_kept says. */
void restore_kept(struct restore *r, size_t number, struct object *o, bool gone);

/* What watch_events.on_skipped says. */
void restore_skipped(struct restore *r, size_t number, const struct skip *s, bool gone);

/* The op goes to disk with all that is put in this turn. */
void restore_put(struct restore *r, struct restore_op *op);

/* The number of the batch that what is put now is in. */
uint64_t restore_number(const struct restore *r);

/* A turn ends in which nothing happened to a watch. now: what was put goes to disk in a moment. */
void restore_end_turn(struct restore *r, bool now);

/* A turn of the daemon in which something may have happened to a watch ends. */
void restore_turn(struct restore *r, size_t number, const struct watch *w);

/* The daemon dies: some of the last batches are lost. */
void restore_crash(struct restore *r);

/* All that was put is on disk: somebody has waited for it, or the daemon ends. */
void restore_sync(struct restore *r);

/* Some object of a watch, and with it the version, is lost for want of room; false: it has none. */
bool restore_lose(struct restore *r, size_t number);

/* Gives a new watch what there is of it; edited: as if its settings were others now. */
void restore_load(struct restore *r, size_t number, struct watch *w, bool edited);

/* Can the stream of such a watch go on without a list? */
bool restore_is_whole(const struct restore *r, size_t number, size_t stream, bool edited);

/* Behind that: a hook knows of this object. False if the watch does, too. As memory_watch_know(). */
bool restore_know(struct watch *w, struct str key, struct str uid);

#endif
