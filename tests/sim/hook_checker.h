/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hook_checker - watches all hooks of one process at each step: which events a run gets, when it
 * starts, and that no run is late. It gets the same calls as the hooks of the daemon and asks them
 * nothing. Panics if a promise is broken.
 */
#ifndef SIM_HOOK_CHECKER_H
#define SIM_HOOK_CHECKER_H

#include "sim/clock.h"
#include "sim/delivery_model.h"
#include "sim/feature.h"
#include "sim/output_files.h"
#include "sim/run_timing.h"

/* How strictly the checker judges a hook. */
enum checked_as {
    CHECKED_FULLY,
    CHECKED_SLOTS, /* a reload has replaced or added it: only its slots count */
    CHECKED_NOT,   /* the configuration does not have it */
};

/* One hook. */
struct checked_hook {
    const struct rules *rules;
    enum checked_as as;
    bool first_ended; /* with SLOTS, as the hook says */
    struct output_files *output_files;
    struct delivery_model delivery_models[RULES_SOURCES][RULES_KEYS];
    struct delivery_model unstarted[RULES_SOURCES]
                                   [RULES_KEYS]; /* as if the run under way had not started */
    struct run_timing timings[RULES_SOURCES]
                             [RULES_KEYS]; /* by key in mode object; else only the first */
    enum hook_gate gate;
    bool was_any; /* require was "any" before a reload */
    bool tried;   /* a first run has failed */
    bool waited;  /* the hook has waited only for the first runs of other hooks */
    bool is_open[RULES_SOURCES];
    bool paused;
    unsigned running;
    uint64_t last_start_ms; /* min_interval counts from it; NEVER_MS = from none */
    uint64_t free_ms;       /* from this time on min_interval allows another start */
    uint64_t held_ms;       /* the last time at which the hook could not start any run */
    bool whole_due;         /* snapshot: a run is due even if all changes cancel out */
    bool held_back;         /* by the run under way: hook/run.h */
};

struct hook_checker {
    const struct clock *clock;
    const struct rules *rules; /* HOOKS elements */
    unsigned slots;            /* shared ones, beside each hook's own */
    bool synced[SOURCES];
    bool stale[SOURCES];
    bool incomplete[SOURCES]; /* for all hooks of the process */
    struct checked_hook hooks[HOOKS];
    uint64_t *features; /* FEATURES counts */
    uint64_t looked_ms; /* when the checker last looked for late runs */
};

/* Makes a checker for hooks to which nothing has happened yet. All pointers are borrowed. */
void hook_checker_init(struct hook_checker *w, const struct clock *clock, const struct rules *rules,
                       unsigned slots, uint64_t *features);

/* A watch or the view reports a change. */
void hook_checker_delta(struct hook_checker *w, size_t number, const struct delta *d);

/* A watch or the view is stale, or fresh again. */
void hook_checker_stale(struct hook_checker *w, size_t number, bool stale);

/* Hooks may see their sources now: all that are synced. */
void hook_checker_open(struct hook_checker *w, const bool synced[SOURCES]);

/* A reload drops, replaces or adds the hook: it is not checked from now on. is NULL: it is not
 * there. */
void hook_checker_release(struct hook_checker *w, size_t hook, const struct hook *is);

/* A reload has changed settings of the hook in place: w->rules has the new ones. */
void hook_checker_change(struct hook_checker *w, size_t hook, const struct rules *was);

/* A person pauses or resumes a hook. */
void hook_checker_pause(struct hook_checker *w, size_t hook, bool paused);

/* A person wants runs of a key, or of all keys (RULES_KEYS). Returns the error that
 * hook_run_manually() must return. */
enum err_kind hook_checker_order(struct hook_checker *w, size_t hook, size_t key);

/* A run starts. */
void hook_checker_begin(struct hook_checker *w, const struct run *run);

/* Does this end of a run park its key or hook, so that only a change brings the next run? */
bool hook_checker_parks(const struct rules *r, const struct run_result *result);

/* A run ends. Returns the timing of its work item after that; NULL: the hook is not checked. */
const struct run_timing *hook_checker_end(struct hook_checker *w, const struct run *run,
                                          const struct run_result *result);

/* A run of apply ends; not_started: the system could not start it. */
void hook_checker_end_apply(struct hook_checker *w, size_t hook, bool not_started);

/* A file has become free: keys that were refused because of it are due again. */
void hook_checker_unpark(struct hook_checker *w, size_t hook);

/* May a run of the hook's command be ready to start, if slots and min_interval are left aside? */
bool hook_checker_is_awake(const struct hook_checker *w, size_t hook);

/* Something is about to happen: panics if a run should have started before now. */
void hook_checker_before(struct hook_checker *w);

/* All runs that may start have started: panics if another one should have. */
void hook_checker_after(struct hook_checker *w);

/* Panics if the status that the hooks give of themselves is wrong. */
void hook_checker_compare(const struct hook_checker *w, const struct hooks *hooks);

/* All is quiet: panics if a run is left to do, or if memory is kept that has no use. */
void hook_checker_check_quiet(const struct hook_checker *w, const struct hooks *hooks);

/* Is the work item of a key parked? */
bool hook_checker_is_parked(const struct hook_checker *w, size_t hook, size_t source, size_t key);

#endif
