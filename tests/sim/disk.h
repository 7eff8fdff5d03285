/* SPDX-License-Identifier: Apache-2.0 */
/*
 * disk - what the simulated daemon keeps on a simulated disk: batches of what has changed in a
 * turn, of which a crash loses the last ones; and what it keeps of its watches. Stands where state/,
 * io/state_driver and app/persist_watch stand in the daemon; see disk_hooks.h for hooks.
 */
#ifndef SIM_DISK_H
#define SIM_DISK_H

#include <stdbool.h>
#include <stddef.h>

#include "base/list.h"
#include "cache/watch.h"
#include "sim/api.h"
#include "sim/setup.h"

enum { DISK_VERSION = 24, DISK_SKIPS = 64, DISK_TEXT = 96 };

/* A mark of an object that is skipped; times 0 = none. */
struct disk_skip {
    size_t part;
    uint64_t times;
    char id[DISK_TEXT];
    char name[DISK_TEXT];
    char why[DISK_TEXT];
};

/* What can be known of a stream. "" = not known. */
struct disk_version {
    bool kept; /* there is one, be it not known */
    bool lost; /* an object is missing */
    char rv[DISK_VERSION];
    char mark[DISK_VERSION];
};

/* Something to be kept; embedded in its owner, and freed by free. */
struct disk_op {
    struct list link;
    void (*write)(struct disk_op *op); /* it is on disk; before free */
    void (*free)(struct disk_op *op);
};

struct batch;

struct disk {
    struct clock *clock;
    struct object *objects[WATCHES][API_KEYS]; /* on disk; NULL = none */
    struct disk_skip skips[WATCHES][DISK_SKIPS];
    struct disk_version versions[WATCHES][API_SPACES];
    struct disk_version last[WATCHES][API_SPACES]; /* as put last, be it not on disk */
    struct batch *first;                           /* on their way there ... */
    struct batch *newest;                          /* ... this one may be of the turn under way */
    bool in_turn;
    uint64_t begun;   /* batches, in all */
    uint64_t written; /* the last one of them that is on disk */
    struct alarm commit;
};

/* An empty disk. */
void disk_init(struct disk *r, struct clock *clock);

/* Frees what it holds. */
void disk_fini(struct disk *r);

/* What watch_events.on_kept says. */
void disk_kept(struct disk *r, size_t number, struct object *o, bool gone);

/* What watch_events.on_skipped says. */
void disk_skipped(struct disk *r, size_t number, const struct skip *s, bool gone);

/* The op goes to disk with all that is put in this turn. */
void disk_put(struct disk *r, struct disk_op *op);

/* The number of the batch that what is put now is in. */
uint64_t disk_number(const struct disk *r);

/* A turn ends in which nothing happened to a watch. now: what was put goes to disk in a moment. */
void disk_end_turn(struct disk *r, bool now);

/* A turn of the daemon in which something may have happened to a watch ends. */
void disk_turn(struct disk *r, size_t number, const struct watch *w);

/* The daemon dies: some of the last batches are lost. */
void disk_crash(struct disk *r);

/* All that was put is on disk: somebody has waited for it, or the daemon ends. */
void disk_sync(struct disk *r);

/* Some object of a watch, and with it the version, is lost for want of room; false: it has none. */
bool disk_lose(struct disk *r, size_t number);

/* Gives a new watch what there is of it; edited: as if its settings were others now. */
void disk_load(struct disk *r, size_t number, struct watch *w, bool edited);

/* Can the stream of such a watch go on without a list? */
bool disk_is_whole(const struct disk *r, size_t number, size_t stream, bool edited);

/* Behind that: a hook knows of this object. False if the watch does, too. As persist_watch_know(). */
bool disk_know(struct watch *w, struct str key, struct str uid);

#endif
