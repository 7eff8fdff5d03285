/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hook_oracle - judges what the runs of one hook are told by the guarantees of
 * docs/design.md "Delivery", from the outside: it sees the changes of the cache and the runs, and
 * plays a world on which runs have effects, failed ones perhaps. It asserts on the spot; pure.
 */
#ifndef WORK_ITEM_HOOK_ORACLE_H
#define WORK_ITEM_HOOK_ORACLE_H

#include "objects.h"

#include "base/rng.h"
#include "hook/hook.h"

enum {
    ORACLE_SOURCES = 2,
    ORACLE_KEYS = 3,
    ORACLE_LIVES = 96,
    ORACLE_STATES = 2048,
    ORACLE_DELETED_ATTEMPTS = 5,
};

/* What an object says; its resourceVersion is the index of its state. */
struct oracle_state {
    unsigned uid;
    unsigned a;
    unsigned b;
};

/* The caches that all hooks look at. */
struct oracle_cache {
    struct oracle_state states[ORACLE_STATES];
    unsigned state_count;
    unsigned now[ORACLE_SOURCES][ORACLE_KEYS]; /* the state of a key, 0 = not there */
    bool synced[ORACLE_SOURCES];
    bool stale[ORACLE_SOURCES];
};

/* One uid of a key, as the hook knows it. */
struct oracle_life {
    unsigned uid;
    bool told;           /* announced, and its end is not handled */
    bool handled;        /* a run for it succeeded, and none for its end was started since */
    unsigned state;      /* the one handled; newer ones that do not count take its place */
    bool open;           /* a run was started since */
    unsigned told_paths; /* bits: what runs since were told as changed; a, b */
    bool excused;        /* its end was given up, or is none that the hook takes */
    unsigned failed;     /* runs for its end */
    bool parked;         /* one of them parked the key: its end may be given up */
    bool gives_way;      /* the last one was one too many: its end must */
    enum delta_type end; /* how it ended last */
    bool in_world;       /* what runs did is there */
    unsigned world;      /* the state that they did it with */
};

struct oracle_key {
    struct oracle_life lives[ORACLE_LIVES];
    size_t life_count;
    unsigned running; /* events of runs under way */
};

/* That a source is stale, as the hook knows it. */
struct oracle_outage {
    bool told;     /* announced (or not taken, but true), and its end is not handled */
    bool handled;  /* a run for STALE succeeded, and none for FRESH was started since */
    bool in_world; /* what runs for STALE did is there */
    bool running;
};

struct oracle {
    const struct oracle_cache *cache;
    struct hook *hook;
    unsigned sources;                 /* bit per source */
    size_t source_of[ORACLE_SOURCES]; /* by the hook's own index */
    bool only_a;                      /* changes_in */
    bool open[ORACLE_SOURCES];        /* by source */
    unsigned running;
    struct rng *rng;
    struct oracle_key keys[ORACLE_SOURCES][ORACLE_KEYS];
    struct oracle_outage outages[ORACLE_SOURCES];
    unsigned handled[ORACLE_SOURCES][ORACLE_KEYS]; /* snapshot: the caches at the last good run */
    unsigned started[ORACLE_SOURCES][ORACLE_KEYS]; /* and at the one under way */
    bool any_good_run;
    bool held_now;             /* the run shows a life that its changes had no room for */
    bool held;                 /* the last good one did */
    bool opened;               /* a source was, since the last start */
    bool restarted_hook;       /* an earlier process has left what the hook knows */
    bool seen[ORACLE_SOURCES]; /* and it had seen the source */
};

/* "u12" or "12" as a number, 0 = "". */
unsigned oracle_number(struct str s);

/* Notes a state, and makes the object that says it; one reference for the caller. */
struct object *oracle_object(struct oracle_cache *cache, size_t source, size_t key,
                             const struct oracle_state *state);

/* Which key an object has. */
size_t oracle_key_index(const struct object *o);

/* Do two states of one life differ in what the hook looks at? */
bool oracle_differ(const struct oracle *o, unsigned x, unsigned y);

/* The cache has changed; before the hook hears of it. */
void oracle_delta(struct oracle *o, size_t source, const struct delta *d);

/* A source became stale or fresh; before the hook hears of it. */
void oracle_stale(struct oracle *o, size_t source);

/* After that, and after hooks_finish(). */
void oracle_settled(struct oracle *o);

/* hooks_next() was called: were sources opened? */
void oracle_gate(struct oracle *o);

/* A run was started. */
void oracle_started(struct oracle *o, const struct run *run);

/* It has ended; before hooks_finish(). parks: the unit wants to be parked. */
void oracle_ended(struct oracle *o, const struct run *run, bool ok, bool parks);

/* The process has died after these runs, some of which may have had effects: another one with this
 * hook has recalled what it left. */
void oracle_reborn(struct oracle *o, struct run *const *runs, size_t n, struct hook *hook);

/* After that: what all runs have done is gone, and the hook is to be told of it again. existing = "run"
 * only. */
void oracle_renewed(struct oracle *o);

/* Nothing is left to do: the world is what the cache is. */
void oracle_quiet(struct oracle *o);

#endif
