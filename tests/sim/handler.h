/* SPDX-License-Identifier: Apache-2.0 */
/*
 * handler - the programs of one simulated hook: they take their time, succeed, fail with or without
 * having had an effect, or hang; what they did is there.
 */
#ifndef SIM_HANDLER_H
#define SIM_HANDLER_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/output_files.h"

/* What a hook's runs have made of a key. */
struct effect {
    uint64_t told; /* the last life that a run was started for; 0 = none */
    uint64_t uid;  /* the life that is there; 0 = none */
    bool sure;     /* the last run succeeded */
    unsigned value;
    unsigned noise;
    unsigned uses;
};

/* Zero but for the first three. */
struct handler {
    const struct rules *rules;
    struct clock *clock;
    struct output_files output_files;
    bool well; /* no run fails */
    struct effect effects[RULES_SOURCES][DELIVERY_MODEL_KEYS];
    uint64_t runs;
    uint64_t failures;
    bool snapshot_seen;
    struct api_object snapshot[RULES_SOURCES][API_KEYS]; /* of the last successful run */
    struct api_object seen[RULES_SOURCES][API_KEYS];     /* of the run under way */
};

/* What a program will do. */
struct handler_plan {
    uint64_t ms; /* how long it takes */
    enum run_end end;
    int status;
    bool effect;
    bool writes; /* its file, though the run may fail */
};

/* The daemon has died, and all that its hook was told with it; the counts stay. */
void handler_forget(struct handler *h);

/* What its runs did is gone, and the daemon is to see to that. */
void handler_undo(struct handler *h);

/* A run starts: panics if its input is not what the hook's settings say. */
void handler_start(struct handler *h, const struct run *run);

/* A program sees it. */
void handler_tell(struct handler *h, const struct run *run);

/* What will become of it. */
struct handler_plan handler_plan(struct handler *h, const struct run *run);

/* What will become of a run of apply. */
struct handler_plan handler_plan_apply(struct handler *h);

/* What its file must hold, by what its runs have made of a key (mode object), or of all. */
uint64_t handler_render(const struct handler *h, size_t source, size_t key);

/* The same of the file of a run that has just ended. */
uint64_t handler_render_run(const struct handler *h, const struct run *run);

/* Of one that will hang. */
enum { HANDLER_TIMEOUT_MS = 30000, HANDLER_LONG_MS = 240000 };

/* It ends. */
void handler_end(struct handler *h, const struct run *run, bool ok, bool effect);

#endif
