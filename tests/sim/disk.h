/* SPDX-License-Identifier: Apache-2.0 */
/*
 * disk - the simulated disk of the simulated daemon, and the rows of its watches. The changes of a
 * turn are one batch; a crash loses the last batches. Stands where state/, io/state_driver and
 * persist/watch stand in the daemon; sim/disk_hooks has the rows of hooks.
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

/* The record of a skipped object; times 0 = no record. */
struct disk_skip {
    size_t part;
    uint64_t times;
    char id[DISK_TEXT];
    char name[DISK_TEXT];
    char why[DISK_TEXT];
    bool missing;
};

/* The resume point of a scope. "" = not known. */
struct disk_version {
    bool kept; /* there is a resume point, although its version may not be known */
    bool lost; /* an object is missing on disk */
    /* By a reload whose list has not come yet: RESHAPED, EDITED; or NONE. */
    enum resume_kind edited;
    char rv[DISK_VERSION];
    char collection_rv[DISK_VERSION];
};

/* A change that is to be kept; embedded in its owner, and freed by free. */
struct disk_op {
    struct list link;
    void (*write)(struct disk_op *op); /* the change is on disk now; called before free */
    void (*free)(struct disk_op *op);
};

struct batch;

struct disk {
    struct clock *clock;
    struct object *objects[WATCHES][API_KEYS]; /* on disk; NULL = none */
    struct disk_skip skips[WATCHES][DISK_SKIPS];
    struct disk_version versions[WATCHES][API_SPACES];
    struct disk_version last[WATCHES][API_SPACES]; /* as put last, perhaps not on disk yet */
    struct batch *first;                           /* batches on their way to disk */
    struct batch *newest; /* the last of them, perhaps of the turn under way */
    bool in_turn;
    uint64_t begun;   /* so many batches in all */
    uint64_t written; /* the number of the last batch on disk */
    struct alarm commit;
};

/* Makes an empty disk. */
void disk_init(struct disk *r, struct clock *clock);

/* Frees all that the disk holds. */
void disk_fini(struct disk *r);

/* Puts the change that a delta reports. */
void disk_kept(struct disk *r, size_t number, struct object *o, bool gone);

/* Puts the change that subscriber.on_skipped reports. */
void disk_skipped(struct disk *r, size_t number, const struct skip *s, bool gone);

/* Puts a change into the batch of this turn. */
void disk_put(struct disk *r, struct disk_op *op);

/* The number of the batch of this turn. */
uint64_t disk_number(const struct disk *r);

/* A reload has replaced the watch: w. Until its first list is there, the disk says that other
 * settings have brought its objects, as rewrite() in persist/watch does. */
void disk_edit(struct disk *r, size_t number, size_t stream, const struct watch *w);

/* So many batches are on their way to disk. */
size_t disk_batches(const struct disk *r);

/* Adds the rows on disk, and the bytes of their objects. */
void disk_measure(const struct disk *r, size_t *rows, size_t *bytes);

/* A turn ends in which nothing happened to a watch. now: all batches are
 * on disk within 20 ms. */
void disk_end_turn(struct disk *r, bool now);

/* A turn of the daemon ends in which something may have happened to a watch. */
void disk_turn(struct disk *r, size_t number, const struct watch *w);

/* The daemon dies: some of the last batches are lost. */
void disk_crash(struct disk *r);

/* Brings all batches to disk: a caller has waited for that, or the daemon ends in order. */
void disk_sync(struct disk *r);

/* The disk loses some object of a watch, and with it the version, as the state does when it is over
 * its limit; false: the watch has no object. */
bool disk_lose(struct disk *r, size_t number);

/* Gives a new watch all that the disk has of it; edited: as if the settings of the watch had been
 * edited. */
void disk_load(struct disk *r, size_t number, struct watch *w, bool edited);

/* Can the scope of such a watch go on without a list? */
bool disk_is_whole(const struct disk *r, size_t number, size_t stream, bool edited);

/* Comes after disk_load(): tells the watch of an object that a hook knows. False if the watch knows
 * it, too. As persist_watch_know() in persist/watch. */
bool disk_know(struct watch *w, struct str key, struct str uid);

#endif
