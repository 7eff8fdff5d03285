/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watcher - looks at every moment of the hooks' lives: what is told, when a run starts, and that
 * none is late. It hears what the hook core hears, and asks it nothing. Panics if a promise is broken.
 */
#ifndef SIM_WATCHER_H
#define SIM_WATCHER_H

#include "sim/account.h"
#include "sim/clock.h"
#include "sim/feature.h"
#include "sim/pace.h"
#include "sim/shelf.h"

/* One hook. */
struct watched {
    const struct rules *rules;
    struct shelf *shelf;
    struct account accounts[RULES_SOURCES][ACCOUNT_KEYS];
    struct account unstarted[RULES_SOURCES][ACCOUNT_KEYS]; /* but for the run under way */
    struct pace paces[RULES_SOURCES][ACCOUNT_KEYS];        /* mode object; else only the first */
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

struct watcher {
    const struct clock *clock;
    const struct rules *rules; /* HOOKS of them */
    unsigned slots;            /* beyond each hook's own */
    bool synced[SOURCES];
    bool stale[SOURCES];
    struct watched hooks[HOOKS];
    uint64_t *features; /* FEATURES counts */
    uint64_t looked_ms; /* when it last looked whether one is late */
};

/* Nothing has happened yet. All is borrowed. */
void watcher_init(struct watcher *w, const struct clock *clock, const struct rules *rules,
                  unsigned slots, uint64_t *features);

/* A watch tells of a change, or the view. */
void watcher_delta(struct watcher *w, size_t number, const struct delta *d);

/* One of them is stale, or fresh again. */
void watcher_stale(struct watcher *w, size_t number, bool stale);

/* Hooks may look at their sources now: all that are synced. */
void watcher_open(struct watcher *w, const bool synced[SOURCES]);

/* A person stops a hook, or lets it go on. */
void watcher_pause(struct watcher *w, size_t hook, bool paused);

/* A person wants runs of a key, or of all (ACCOUNT_KEYS). What hook_run_manually() must say. */
enum err_kind watcher_order(struct watcher *w, size_t hook, size_t key);

/* A run starts. */
void watcher_begin(struct watcher *w, const struct run *run);

/* Does this end of a run mean that it is not tried again before a change? */
bool watcher_parks(const struct rules *r, const struct run_result *result);

/* A run ends. Returns how its unit stands then. */
const struct pace *watcher_end(struct watcher *w, const struct run *run,
                               const struct run_result *result);

/* A run of apply ends; denied: it was none. */
void watcher_end_apply(struct watcher *w, size_t hook, bool not_started);

/* Keys that were refused may have the file that they wanted. */
void watcher_unpark(struct watcher *w, size_t hook);

/* May a run of the hook's command be ready to start, but for slots and min_interval? */
bool watcher_is_awake(const struct watcher *w, size_t hook);

/* Something is about to happen: nothing may have had to start before now. */
void watcher_before(struct watcher *w);

/* All that may start has: nothing else must by now. */
void watcher_after(struct watcher *w);

/* Is what the hook core says of itself so? */
void watcher_compare(const struct watcher *w, const struct hooks *hooks);

/* All is quiet: is nothing left to do, and nothing kept that is of no use? */
void watcher_check_quiet(const struct watcher *w, const struct hooks *hooks);

/* Is the unit of a key parked? */
bool watcher_is_parked(const struct watcher *w, size_t hook, size_t source, size_t key);

#endif
