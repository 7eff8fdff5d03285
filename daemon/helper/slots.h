/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slots - counts the runs at a time that the configuration allows (docs/design.md "Slots"); pure.
 * hook/scheduler in main never asks for more, so a main that does has a bug or was broken into. A
 * hook has four work queues here: for its command and the writes and removals of its file, for
 * apply, for fingerprints, and for stray files. Each work queue has a slot of its own. Further
 * commands at the same time use the slots that all hooks share. Fingerprints have a second slot,
 * because the reading that follows a killed one does not wait for its end. An exec plugin has as many
 * slots of its own as its concurrency says.
 *
 * Runs that a reload finds still count: a hook of the same name takes its work queues over, and the
 * shared slots that are taken stay taken. Else a broken main could reload again and again, and have
 * more programs run each time.
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
    struct slots_hook **hooks; /* by number */
    size_t hook_count;
    struct slot *all; /* the slots that are taken, in no order */
    size_t count;
    size_t capacity;
    unsigned shared; /* how many of the shared slots are taken */
    unsigned shared_most;
    unsigned shared_file_most; /* for files that are written after their command */
    size_t clears;             /* CLEARs under way */
    size_t clear_most;         /* by the present configuration */
    size_t clear_more;         /* by the one before: its commands may still end */
};

/* All slots are free. */
void slots_init(struct slots *s, const struct helper_params *params);

/* From now on the numbers are those of params, the configuration after a reload. */
void slots_renew(struct slots *s, const struct helper_params *params);

/* Frees the memory. */
void slots_fini(struct slots *s);

/* Takes a slot for a run; no other run may have the id. hook is the number of the hook in params.
 * False: the configuration allows no further run. */
bool slots_take(struct slots *s, uint64_t id, uint32_t hook, enum run_program program) MUST_CHECK;

/* The same for a CLEAR. A CLEAR follows a command, so there are as many slots for it as for
 * commands of all hooks together. */
bool slots_take_clear(struct slots *s, uint64_t id) MUST_CHECK;

/* The run `id`, which has a slot, is over. */
void slots_free(struct slots *s, uint64_t id);

#endif
