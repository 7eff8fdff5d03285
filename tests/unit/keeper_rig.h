/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keeper_rig - a loop with a keeper on a folder of its own, for tests of io/keeper.
 */
#ifndef UNIT_KEEPER_RIG_H
#define UNIT_KEEPER_RIG_H

#include <stdbool.h>

#include "io/keeper.h"
#include "io/loop.h"
#include "state_rig.h"

struct keeper_rig {
    struct state_rig state; /* its folder; its writer is not used while the keeper lives */
    struct loop *loop;
    struct keeper *keeper;
    struct keeper_wait wait;
    int told;     /* how often wait was told */
    bool durable; /* what it was told last */
    int losses;   /* calls of on_lost */
    int held;     /* bodies that are held */
    int flushes;
    bool all; /* what the last flush said */
};

/* In a folder below the working directory; kept false: state_dir "none". */
void keeper_rig_init(struct keeper_rig *r, bool kept);

/* A keeper on the folder as it is. */
void keeper_rig_start(struct keeper_rig *r, bool reset);

/* Ends the keeper as a kill would, and waits until nothing of it is left. */
void keeper_rig_stop(struct keeper_rig *r);

/* Stops it and deletes the folder; no body may be held any more. */
void keeper_rig_fini(struct keeper_rig *r);

/* Adds a mark whose digest is a number. */
void keeper_rig_mark(struct keeper_rig *r, const char *key, uint64_t told);

/* Adds an object whose body is held. */
void keeper_rig_object(struct keeper_rig *r, const char *key, const char *body,
                       enum keeper_haste haste);

/* Runs the loop until all that was added is committed, or known not to be. */
bool keeper_rig_commit(struct keeper_rig *r);

/* Runs one turn of the loop: a batch that is due is given to a worker. */
void keeper_rig_turn(struct keeper_rig *r);

/* Runs the loop until the status says so, one turn at least. */
void keeper_rig_until(struct keeper_rig *r, bool writable);

/* Flushes, and runs the loop until that is over. */
bool keeper_rig_flush(struct keeper_rig *r, uint64_t timeout_ms);

#endif
