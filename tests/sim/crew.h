/* SPDX-License-Identifier: Apache-2.0 */
/*
 * crew - the hooks of one life of the daemon with their simulated programs, and those who look on:
 * everything that the hook core hears or says goes through here. The watcher knows when a run must
 * start, and nothing of an earlier life: it leaves a crew that has one to the witness.
 */
#ifndef SIM_CREW_H
#define SIM_CREW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cache/watch.h"
#include "sim/handler.h"
#include "sim/memory.h"
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
    uint64_t *features;    /* FEATURES counts */
    struct memory *memory; /* of a daemon that remembers; else NULL */
    struct alarm *reaper;  /* when that dies; often while a run starts or ends */
};

struct crew {
    struct crew_params params;
    bool is_watched; /* by the watcher */
    struct hooks hooks;
    struct watcher watcher;
    bool synced[SOURCES]; /* as they were told last */
    struct list programs;
    struct alarm wake;
};

/* Adds the hooks, and gives them what is left of them. */
void crew_init(struct crew *c, const struct crew_params *params);

/* They have been told what is left of their sources. */
void crew_loaded(struct crew *c);

/* What they know now is to be kept, with what is put behind this in the same turn. */
bool crew_keep(struct crew *c);

/* The same, and the turn ends: it goes to disk in a moment. */
void crew_keep_now(struct crew *c);

/* Is what it knows kept? */
bool crew_remembers(const struct crew *c);

/* For program: how the hook stands, for its shelf. */
void crew_look_at_shelf(struct crew *c, size_t hook);

/* The daemon ends in order: what runs has failed. crew_fini() follows. */
void crew_stop(struct crew *c);

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

/* All is quiet: is nothing kept or owed that should not be? */
void crew_check_quiet(const struct crew *c);

/* Does the hook core say that the unit of a key is parked? */
bool crew_says_parked(const struct crew *c, size_t hook, size_t source, size_t key);

/* The same, and it may be. */
bool crew_is_parked(const struct crew *c, size_t hook, size_t source, size_t key);

/* Did the hook pass over this state of a key? */
bool crew_skips(const struct crew *c, size_t hook, size_t source, size_t key,
                const struct api_object *now);

#endif
