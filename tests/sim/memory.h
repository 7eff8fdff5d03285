/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory - what outlives a simulated daemon, and those who judge what it makes of that.
 */
#ifndef SIM_MEMORY_H
#define SIM_MEMORY_H

#include "sim/handler.h"
#include "sim/marks.h"
#include "sim/outputs.h"
#include "sim/recall.h"
#include "sim/witness.h"

struct memory {
    struct clock *clock;
    struct handler *handlers; /* HOOKS of them */
    struct restore restore;
    struct marks marks;
    struct witness witness;
    struct outputs outputs[HOOKS];
};

/* Nothing is known. All is borrowed; rules, handlers: HOOKS of them. */
void memory_init(struct memory *m, struct clock *clock, const struct api *api,
                 const struct rules *rules, struct handler *handlers, uint64_t *features);

/* Frees what it holds. */
void memory_fini(struct memory *m);

/* The daemon has died, or ended in order: then all of it is on disk. */
void persist_end_incarnation(struct memory *m, bool orderly);

/* Some hooks are other ones by the next life: what they did is gone. */
void persist_renew_some(struct memory *m, unsigned percent);

#endif
