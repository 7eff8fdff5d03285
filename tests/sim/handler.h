/* SPDX-License-Identifier: Apache-2.0 */
/*
 * handler - the programs of one simulated hook: they take their time, succeed, fail with or without
 * having had an effect, or hang; and they check what they are told (DESIGN 1.4).
 */
#ifndef SIM_HANDLER_H
#define SIM_HANDLER_H

#include <stdbool.h>
#include <stdint.h>

#include "hook/hook.h"
#include "sim/api.h"
#include "sim/clock.h"

/* The outage of a source is told as the life of an object: it stands behind the keys, its uid is 1.
 */
enum { HANDLER_SOURCES = 2, HANDLER_OUTAGE = API_KEYS, HANDLER_KEYS };

/* What a hook's runs have made of a key. */
struct effect {
    uint64_t
        uid; /* of the life that a run was started for and whose end is not handled; 0 = none */
    uint64_t heir; /* the next life, told together with an end that is not handled; 0 = none */
    bool ending;   /* the run under way tells the end of uid */
    bool applied;  /* a run had its effect */
    bool sure;     /* the last run for it had */
    unsigned value;
    unsigned noise;
    unsigned failed_deletes; /* in a row */
    bool running;
};

/* Zero but for the first four. */
struct handler {
    const char *name;
    struct clock *clock;
    unsigned percent; /* of runs that do not succeed */
    bool skips;       /* existing = "skip": lives it was not told of count as announced */
    struct effect effects[HANDLER_SOURCES][HANDLER_KEYS];
    /* The end of this life was handled, and it was not told of since; by source. */
    bool ended[HANDLER_SOURCES][API_LIVES];
    uint64_t runs;
    uint64_t failures;
    bool snapshot_seen;
    struct api_object snapshot[HANDLER_SOURCES][API_KEYS]; /* of the last successful run */
    struct api_object seen[HANDLER_SOURCES][API_KEYS];     /* of the run under way */
};

/* The bits of an object that the simulation looks at. */
struct api_object handler_read(const struct object *o);

/* The daemon has died, and all that its hook was told with it; the counts stay. */
void handler_forget(struct handler *h);

/* A run starts: panics if what it is told breaks a promise. */
void handler_start(struct handler *h, const struct run *run);

/* How long it will take, in ms; *ok = whether it will succeed, *effect = whether it will have its
 * effect. */
uint64_t handler_plan(struct handler *h, bool *ok, bool *effect);

/* It ends. */
void handler_end(struct handler *h, const struct run *run, bool ok, bool effect);

#endif
