/* SPDX-License-Identifier: Apache-2.0 */
/*
 * crew - the hooks of one life of the daemon with their simulated programs, and the watcher that
 * looks on: everything that the hook core hears or says goes through here.
 */
#ifndef SIM_CREW_H
#define SIM_CREW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cache/watch.h"
#include "sim/handler.h"
#include "sim/watcher.h"

/* Borrowed; outlives the crew. */
struct crew_params {
    struct clock *clock;
    struct handler *handlers;  /* HOOKS of them */
    const struct rules *rules; /* the same */
    struct watch **watches;    /* WATCHES of them */
    const struct view *view;
    unsigned slots; /* beyond each hook's own */
    uint64_t seed;
    uint64_t *features; /* FEATURES counts */
};

struct crew {
    struct crew_params params;
    struct hooks hooks;
    struct watcher watcher;
    bool synced[SOURCES]; /* as they were told last */
    struct list programs;
    struct alarm wake;
};

/* Adds the hooks. */
void crew_init(struct crew *c, const struct crew_params *params);

/* Its programs die as well. */
void crew_fini(struct crew *c);

/* A watch tells of a change, or the view. */
void crew_delta(struct crew *c, size_t number, const struct delta *d);

/* One of them is stale, or fresh again. */
void crew_stale(struct crew *c, size_t number, bool stale, uint64_t wall_ns);

/* Starts what may start; synced: which of them are. */
void crew_start_due(struct crew *c, const bool synced[SOURCES]);

/* A person stops a hook, or lets it go on. */
void crew_pause(struct crew *c, size_t hook, bool paused);

/* A person wants a key (ACCOUNT_KEYS = all) run now. */
void crew_order(struct crew *c, size_t hook, size_t key);

/* Have the hooks nothing to do? */
bool crew_is_quiet(const struct crew *c);

#endif
