/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hook_oracle - judges by the guarantees of docs/design.md "Delivery" which events the runs of one
 * hook have, from the outside: it sees the changes of the cache and the runs, and plays a world on
 * which runs have effects, failed ones perhaps. It asserts on the spot; pure.
 */
#ifndef UNIT_HOOK_ORACLE_H
#define UNIT_HOOK_ORACLE_H

#include "objects.h"

#include "base/rng.h"
#include "hook/hook.h"

enum {
    ORACLE_SOURCES = 2,
    ORACLE_KEYS = 3,
    ORACLE_INCARNATIONS = 96,
    ORACLE_STATES = 2048,
    ORACLE_DELETED_ATTEMPTS = 5,
};

/* The fields of an object; its resourceVersion is the index of its state. */
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
struct oracle_incarnation {
    unsigned uid;
    bool delivered; /* a run with it was started, and its end is not handled */
    bool handled;   /* a run for it succeeded, and no run for its end was started since */
    unsigned
        /* the handled state; a newer one takes its place if only paths that do not count differ */
        state;
    bool attempted;    /* a run was started since the last success */
    unsigned reported; /* bits of paths that runs since then had as changed: 1 = a, 2 = b */
    bool excused;      /* its end was given up, or the hook does not take that end */
    unsigned failed;   /* runs for its end that failed */
    bool parked;       /* a run for its end parked the key: its end may be given up */
    bool superseded;   /* the last run for its end used up the attempts: its end must be given up */
    enum delta_type end; /* the last event of its end */
    bool in_world;       /* runs have had their effect */
    unsigned world;      /* the state of those runs */
};

struct oracle_key {
    struct oracle_incarnation incarnations[ORACLE_INCARNATIONS];
    size_t incarnation_count;
    unsigned running; /* events of runs under way */
};

/* An outage of a source, as the hook knows it. */
struct oracle_outage {
    /* a run with it was started (or it is true, and the hook does not take it), and its end is not
     * handled */
    bool delivered;
    bool handled;  /* a run for STALE succeeded, and no run for FRESH was started since */
    bool in_world; /* runs for STALE have had their effect */
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
    unsigned started[ORACLE_SOURCES]
                    [ORACLE_KEYS]; /* snapshot: the caches at the start of the run under way */
    bool any_good_run;
    bool held_now; /* the run has an incarnation in its snapshot that its changes had no room for */
    bool held;     /* the last run that succeeded had */
    bool opened;   /* a source was opened since the last start */
    bool restarted;            /* an earlier process has left its deliveries */
    bool seen[ORACLE_SOURCES]; /* and it had seen the source */
};

/* "u12" or "12" as a number, 0 = "". */
unsigned oracle_number(struct str s);

/* Notes a state, and makes the object that has it; one reference for the caller. */
struct object *oracle_object(struct oracle_cache *cache, size_t source, size_t key,
                             const struct oracle_state *state);

/* Which key an object has. */
size_t oracle_key_index(const struct object *o);

/* Do two states of one incarnation differ in paths that the hook looks at? */
bool oracle_differ(const struct oracle *o, unsigned x, unsigned y);

/* The cache has changed; to be called before the hook is. */
void oracle_delta(struct oracle *o, size_t source, const struct delta *d);

/* A source became stale or fresh; to be called before the hook is. */
void oracle_stale(struct oracle *o, size_t source);

/* To be called after the hook has taken the change, and after hooks_finish(). */
void oracle_settled(struct oracle *o);

/* hooks_next() was called: were sources opened? */
void oracle_gate(struct oracle *o);

/* A run was started. */
void oracle_started(struct oracle *o, const struct run *run);

/* A run has ended; to be called before hooks_finish(). parks: its work_item is to be parked. */
void oracle_ended(struct oracle *o, const struct run *run, bool ok, bool parks);

/* The process has died during these runs, some of which may have had effects. hook is the one of
 * the next process, which has restored its deliveries. */
void oracle_restarted(struct oracle *o, struct run *const *runs, size_t n, struct hook *hook);

/* To be called after oracle_restarted(): the effects of all runs are gone, and the hook runs for
 * every object again. existing = "run" only. */
void oracle_renewed(struct oracle *o);

/* Nothing is left to do: the world equals the cache. */
void oracle_quiet(struct oracle *o);

#endif
