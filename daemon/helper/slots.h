/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slots - how many runs the configuration allows at a time; pure. main's schedule (hook/scheduler) never
 * asks for more, so who does is broken. A hook has a lane for its command, with what writes and
 * removes its files, one for apply and one for fingerprints. Each lane has a slot of its own; commands
 * beyond that share some.
 */
#ifndef HELPER_SLOTS_H
#define HELPER_SLOTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/wire.h"
#include "helper/helper.h"

struct slots {
    const struct helper_params *params;
    struct slot *all; /* those that are taken */
    size_t count;
    unsigned *running; /* by lane */
    unsigned shared;   /* of the common ones, those that are taken */
};

/* All are free; params are borrowed. */
void slots_init(struct slots *s, const struct helper_params *params);

/* Frees it. */
void slots_fini(struct slots *s);

/* Takes one for a run that no other has the id of. False: the configuration allows no more. */
bool slots_take(struct slots *s, uint64_t id, uint32_t hook, enum wire_program program) MUST_CHECK;

/* The same for a CLEAR: as many as there may be commands that went before them. */
bool slots_take_clear(struct slots *s, uint64_t id) MUST_CHECK;

/* The run is over. */
void slots_free(struct slots *s, uint64_t id);

#endif
