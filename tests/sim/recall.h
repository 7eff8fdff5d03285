/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recall - what the simulated daemon keeps of its watches on a simulated disk: batches of what has
 * changed in a turn, of which a crash loses the last ones. Stands where state/ and app/memory stand
 * in the daemon.
 */
#ifndef SIM_RECALL_H
#define SIM_RECALL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/list.h"
#include "cache/watch.h"
#include "sim/api.h"
#include "sim/setup.h"

enum { RECALL_VERSION = 24 };

/* What can be known of a stream. "" = not known. */
struct recall_version {
    bool kept; /* there is one, be it not known */
    bool lost; /* an object is missing */
    char rv[RECALL_VERSION];
    char mark[RECALL_VERSION];
};

struct recall {
    struct clock *clock;
    struct object *objects[WATCHES][API_KEYS]; /* on disk; NULL = none */
    struct recall_version versions[WATCHES][API_SPACES];
    struct recall_version last[WATCHES][API_SPACES]; /* as put last, be it not on disk */
    struct list batches; /* on their way there; the last one may be of the turn under way */
    bool in_turn;
};

/* An empty disk. */
void recall_init(struct recall *r, struct clock *clock);

/* Frees what it holds. */
void recall_fini(struct recall *r);

/* What watch_events.on_kept says. */
void recall_kept(struct recall *r, size_t number, struct object *o, bool gone);

/* A turn of the daemon in which something may have happened to a watch ends. */
void recall_turn(struct recall *r, size_t number, const struct watch *w);

/* The daemon dies: some of the last batches are lost. */
void recall_crash(struct recall *r);

/* The daemon ends: all of it is on disk. */
void recall_stop(struct recall *r);

/* Some object of a watch, and with it the version, is lost for want of room; false: it has none. */
bool recall_lose(struct recall *r, size_t number);

/* Gives a new watch what there is of it; edited: as if its settings were others now. */
void recall_load(struct recall *r, size_t number, struct watch *w, bool edited);

#endif
