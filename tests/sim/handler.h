/* SPDX-License-Identifier: Apache-2.0 */
/*
 * handler - the programs of one simulated hook: they take their time, succeed, fail with or without
 * having had an effect, or hang. Their effects outlive the daemon.
 */
#ifndef SIM_HANDLER_H
#define SIM_HANDLER_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/output_files.h"

/* The effect that the runs of a hook have had for a key. */
struct effect {
    uint64_t told; /* the last incarnation that a program was told of; 0 = none */
    uint64_t uid;  /* the incarnation that the effect is of; 0 = no effect */
    bool sure;     /* the last run succeeded */
    unsigned value;
    unsigned noise;
    unsigned uses;
};

/* All members after the first three begin with zero. */
struct handler {
    const struct rules *rules;
    struct clock *clock;
    struct output_files output_files;
    bool well; /* no run fails any more */
    struct effect effects[RULES_SOURCES][RULES_KEYS];
    uint64_t runs;
    uint64_t failures;
    bool snapshot_seen;
    struct api_object snapshot[RULES_SOURCES][API_KEYS]; /* of the last successful run */
    struct api_object seen[RULES_SOURCES][API_KEYS];     /* of the run under way */
};

/* How a program is going to end, and when. */
struct handler_plan {
    uint64_t ms; /* how long it takes */
    struct run_end end;
    bool effect;
    bool writes; /* the output file is in place although the run may fail */
};

/* The daemon has died and forgets all that the hook was told; the counts stay. */
void handler_forget(struct handler *h);

/* The effects of the runs are gone, as after a boot; the daemon has to renew the hook. */
void handler_undo(struct handler *h);

/* A run starts: panics if its input does not fit the hook's settings. */
void handler_start(struct handler *h, const struct run *run);

/* The program of a run starts and reads its input. */
void handler_tell(struct handler *h, const struct run *run);

/* Draws how the program of a run is going to end. */
struct handler_plan handler_plan(struct handler *h, const struct run *run);

/* Draws how a run of apply is going to end. */
struct handler_plan handler_plan_apply(struct handler *h);

/* The content that the output file must have, by the effects for a key (mode object), or for all
 * keys. */
uint64_t handler_render(const struct handler *h, size_t source, size_t key);

/* The content that the file of a run that has just ended must have. */
uint64_t handler_render_run(const struct handler *h, const struct run *run);

/* A run that hangs takes one of these: it is killed at its timeout, or it ends minutes later. */
enum { HANDLER_TIMEOUT_MS = 30000, HANDLER_LONG_MS = 240000 };

/* The program of a run ends. */
void handler_end(struct handler *h, const struct run *run, bool ok, bool effect);

#endif
