/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim_hooks - the hooks of one process of the daemon with their simulated programs, and their
 * judges: each call to the hooks and each run of them goes through here. hook_checker knows when a
 * run must start, but nothing of an earlier process: hooks that have one are left to
 * restart_oracle.
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

/* All pointers are borrowed and outlive the struct sim_hooks. */
struct sim_hooks_params {
    struct clock *clock;
    struct handler *handlers;  /* HOOKS elements */
    const struct rules *rules; /* HOOKS elements */
    struct watch **watches;    /* WATCHES elements */
    const struct view *view;
    unsigned slots; /* shared ones, beside each hook's own */
    uint64_t seed;
    uint64_t *features;      /* FEATURES counts */
    struct persist *persist; /* of a daemon with delivery records; else NULL */
    struct alarm *reaper;    /* kills that daemon; often while a run starts or ends */
    struct alarm *change;    /* the hooks of a watch that a reload replaces have retired */
};

/* The fate of a hook when its runs have ended (sim/sim_reload). */
enum sim_hooks_reload {
    SIM_HOOKS_STAY,
    SIM_HOOKS_REPLACE,
    SIM_HOOKS_REPLACE_WITH_WATCH, /* in the turn in which its watch is replaced */
    SIM_HOOKS_DROP,
};

struct sim_hooks {
    struct sim_hooks_params params;
    enum sim_hooks_reload reloads[HOOKS];
    /* The watch that a reload replaces when its hooks have retired; WATCHES = none. */
    size_t changing;
    bool is_watched; /* by hook_checker */
    struct hooks hooks;
    struct hook_checker hook_checker;
    bool synced[SOURCES]; /* as the caller said last */
    struct list programs;
    struct alarm wake;
};

/* Makes the hooks, and restores them from disk if there are delivery records. */
void sim_hooks_init(struct sim_hooks *c, const struct sim_hooks_params *params);

/* The hooks have got all loaded objects of their sources. */
void sim_hooks_loaded(struct sim_hooks *c);

/* Does hook_checker check the hook? */
bool sim_hooks_watches(const struct sim_hooks *c, size_t hook);

/* Tells hook_checker which hooks may see their sources. */
void sim_hooks_open(struct sim_hooks *c);

/* The parameters of a hook; sources gets its sources. */
struct hook_params sim_hooks_params(const struct sim_hooks *c, size_t number,
                                    struct hook_source sources[RULES_SOURCES]);

/* Puts all changes of the hooks into the batch of this turn; false: there was no change. */
bool sim_hooks_keep(struct sim_hooks *c);

/* The same, and ends the turn: its batch is on disk within 20 ms. */
void sim_hooks_keep_now(struct sim_hooks *c);

/* Does the daemon keep delivery records? */
bool sim_hooks_remembers(const struct sim_hooks *c);

/* Only for sim/program: tells output_files the state of the hook. */
void sim_hooks_look_at_files(struct sim_hooks *c, size_t hook);

/* The daemon ends in order: all runs under way fail. sim_hooks_fini() follows. */
void sim_hooks_stop(struct sim_hooks *c);

/* Frees the hooks; their programs die. */
void sim_hooks_fini(struct sim_hooks *c);

/* A watch or the view reports a change. */
void sim_hooks_delta(struct sim_hooks *c, size_t number, const struct delta *d);

/* A watch or the view is stale, or fresh again. */
void sim_hooks_stale(struct sim_hooks *c, size_t number, bool stale, struct now now);

/* limits.memory keeps objects out of a watch or the view, or no longer. */
void sim_hooks_incomplete(struct sim_hooks *c, size_t number, bool incomplete, struct now now);

/* Starts all runs that may start; synced: which sources are synced. */
void sim_hooks_start_due(struct sim_hooks *c, const bool synced[SOURCES]);

/* A person pauses or resumes a hook. */
void sim_hooks_pause(struct sim_hooks *c, size_t hook, bool paused);

/* A person wants a manual run of a key (RULES_KEYS = all keys). */
void sim_hooks_order(struct sim_hooks *c, size_t hook, size_t key);

/* So many keys are due for all hooks. Panics if a hook keeps more deliveries than there are keys. */
size_t sim_hooks_pending(const struct sim_hooks *c);

/* Have the hooks nothing to do? */
bool sim_hooks_is_quiet(const struct sim_hooks *c);

/* All is quiet: panics if the hooks keep or owe something that they should not. */
void sim_hooks_check_quiet(const struct sim_hooks *c);

/* Does the hook say that the work item of a key is parked? */
bool sim_hooks_says_parked(const struct sim_hooks *c, size_t hook, size_t source, size_t key);

/* The same, and panics if the work item may not be parked. */
bool sim_hooks_is_parked(const struct sim_hooks *c, size_t hook, size_t source, size_t key);

/* Did existing = "skip" pass over this state of a key? */
bool sim_hooks_skips(const struct sim_hooks *c, size_t hook, size_t source, size_t key,
                     const struct api_object *now);

#endif
