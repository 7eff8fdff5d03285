/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hook_checker - looks at every moment of the hooks' lives: what is told, when a run starts, and that
 * none is late. It hears what the hook core hears, and asks it nothing. Panics if a promise is broken.
 */
#ifndef SIM_HOOK_CHECKER_H
#define SIM_HOOK_CHECKER_H

#include "sim/clock.h"
#include "sim/delivery_model.h"
#include "sim/feature.h"
#include "sim/output_files.h"
#include "sim/run_timing.h"

/* One hook. */
struct checked_hook {
    const struct rules *rules;
    struct output_files *output_files;
    struct delivery_model delivery_models[RULES_SOURCES][DELIVERY_MODEL_KEYS];
    struct delivery_model unstarted[RULES_SOURCES]
                                   [DELIVERY_MODEL_KEYS]; /* but for the run under way */
    struct run_timing paces[RULES_SOURCES]
                           [DELIVERY_MODEL_KEYS]; /* mode object; else only the first */
    enum hook_gate gate;
    bool tried;  /* a run has failed */
    bool waited; /* for other hooks' first runs alone */
    bool is_open[RULES_SOURCES];
    bool paused;
    unsigned running;
    uint64_t free_ms; /* from then on min_interval allows another start */
    uint64_t held_ms; /* when it was last seen unable to start anything */
    bool whole_due;   /* snapshot: a run is due whatever becomes of the changes */
    bool held_back;   /* by the run under way: see run.h */
};

struct hook_checker {
    const struct clock *clock;
    const struct rules *rules; /* HOOKS of them */
    unsigned slots;            /* beyond each hook's own */
    bool synced[SOURCES];
    bool stale[SOURCES];
    struct checked_hook hooks[HOOKS];
    uint64_t *features; /* FEATURES counts */
    uint64_t looked_ms; /* when it last looked whether one is late */
};

/* Nothing has happened yet. All is borrowed. */
void hook_checker_init(struct hook_checker *w, const struct clock *clock, const struct rules *rules,
                       unsigned slots, uint64_t *features);

/* A watch tells of a change, or the view. */
void hook_checker_delta(struct hook_checker *w, size_t number, const struct delta *d);

/* One of them is stale, or fresh again. */
void hook_checker_stale(struct hook_checker *w, size_t number, bool stale);

/* Hooks may look at their sources now: all that are synced. */
void hook_checker_open(struct hook_checker *w, const bool synced[SOURCES]);

/* A person stops a hook, or lets it go on. */
void hook_checker_pause(struct hook_checker *w, size_t hook, bool paused);

/* A person wants runs of a key, or of all (DELIVERY_MODEL_KEYS). What hook_run_manually() must say. */
enum err_kind hook_checker_order(struct hook_checker *w, size_t hook, size_t key);

/* A run starts. */
void hook_checker_begin(struct hook_checker *w, const struct run *run);

/* Does this end of a run mean that it is not tried again before a change? */
bool hook_checker_parks(const struct rules *r, const struct run_result *result);

/* A run ends. Returns how its unit stands then. */
const struct run_timing *hook_checker_end(struct hook_checker *w, const struct run *run,
                                          const struct run_result *result);

/* A run of apply ends; denied: it was none. */
void hook_checker_end_apply(struct hook_checker *w, size_t hook, bool not_started);

/* Keys that were refused may have the file that they wanted. */
void hook_checker_unpark(struct hook_checker *w, size_t hook);

/* May a run of the hook's command be ready to start, but for slots and min_interval? */
bool hook_checker_is_awake(const struct hook_checker *w, size_t hook);

/* Something is about to happen: nothing may have had to start before now. */
void hook_checker_before(struct hook_checker *w);

/* All that may start has: nothing else must by now. */
void hook_checker_after(struct hook_checker *w);

/* Is what the hook core says of itself so? */
void hook_checker_compare(const struct hook_checker *w, const struct hooks *hooks);

/* All is quiet: is nothing left to do, and nothing kept that is of no use? */
void hook_checker_check_quiet(const struct hook_checker *w, const struct hooks *hooks);

/* Is the unit of a key parked? */
bool hook_checker_is_parked(const struct hook_checker *w, size_t hook, size_t source, size_t key);

#endif
