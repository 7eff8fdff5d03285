/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim_hooks - the hooks of one life of the daemon with their simulated programs, and those who look on:
 * everything that the hook core hears or says goes through here. The watcher knows when a run must
 * start, and nothing of an earlier life: it leaves a crew that has one to the witness.
 */
#ifndef SIM_SIM_HOOKS_H
#define SIM_SIM_HOOKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cache/watch.h"
#include "sim/handler.h"
#include "sim/hook_checker.h"
#include "sim/persist.h"

/* Borrowed; outlives the crew. */
struct sim_hooks_params {
    struct clock *clock;
    struct handler *handlers;  /* HOOKS of them */
    const struct rules *rules; /* the same */
    struct watch **watches;    /* WATCHES of them */
    const struct view *view;
    unsigned slots; /* beyond each hook's own */
    uint64_t seed;
    uint64_t *features;      /* FEATURES counts */
    struct persist *persist; /* of a daemon that remembers; else NULL */
    struct alarm *reaper;    /* when that dies; often while a run starts or ends */
};

struct sim_hooks {
    struct sim_hooks_params params;
    bool is_watched; /* by the watcher */
    struct hooks hooks;
    struct hook_checker hook_checker;
    bool synced[SOURCES]; /* as they were told last */
    struct list programs;
    struct alarm wake;
};

/* Adds the hooks, and gives them what is left of them. */
void sim_hooks_init(struct sim_hooks *c, const struct sim_hooks_params *params);

/* They have been told what is left of their sources. */
void sim_hooks_loaded(struct sim_hooks *c);

/* What they know now is to be kept, with what is put behind this in the same turn. */
bool sim_hooks_keep(struct sim_hooks *c);

/* The same, and the turn ends: it goes to disk in a moment. */
void sim_hooks_keep_now(struct sim_hooks *c);

/* Is what it knows kept? */
bool sim_hooks_remembers(const struct sim_hooks *c);

/* For program: how the hook stands, for its shelf. */
void sim_hooks_look_at_shelf(struct sim_hooks *c, size_t hook);

/* The daemon ends in order: what runs has failed. sim_hooks_fini() follows. */
void sim_hooks_stop(struct sim_hooks *c);

/* Its programs die as well. */
void sim_hooks_fini(struct sim_hooks *c);

/* A watch tells of a change, or the view. */
void sim_hooks_delta(struct sim_hooks *c, size_t number, const struct delta *d);

/* One of them is stale, or fresh again. */
void sim_hooks_stale(struct sim_hooks *c, size_t number, bool stale, uint64_t wall_ns);

/* Starts what may start; synced: which of them are. */
void sim_hooks_start_due(struct sim_hooks *c, const bool synced[SOURCES]);

/* A person stops a hook, or lets it go on. */
void sim_hooks_pause(struct sim_hooks *c, size_t hook, bool paused);

/* A person wants a key (DELIVERY_MODEL_KEYS = all) run now. */
void sim_hooks_order(struct sim_hooks *c, size_t hook, size_t key);

/* Have the hooks nothing to do? */
bool sim_hooks_is_quiet(const struct sim_hooks *c);

/* All is quiet: is nothing kept or owed that should not be? */
void sim_hooks_check_quiet(const struct sim_hooks *c);

/* Does the hook core say that the unit of a key is parked? */
bool sim_hooks_says_parked(const struct sim_hooks *c, size_t hook, size_t source, size_t key);

/* The same, and it may be. */
bool sim_hooks_is_parked(const struct sim_hooks *c, size_t hook, size_t source, size_t key);

/* Did the hook pass over this state of a key? */
bool sim_hooks_skips(const struct sim_hooks *c, size_t hook, size_t source, size_t key,
                     const struct api_object *now);

#endif
