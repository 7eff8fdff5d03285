/* SPDX-License-Identifier: Apache-2.0 */
/*
 * state_driver_rig - a loop with a state driver on a folder of its own, for tests of
 * io/state_driver.
 */
#ifndef UNIT_STATE_DRIVER_RIG_H
#define UNIT_STATE_DRIVER_RIG_H

#include <stdbool.h>

#include "io/loop.h"
#include "io/state_driver.h"
#include "state_rig.h"

struct state_driver_rig {
    struct state_rig state; /* the folder; its writer is not used while the state driver lives */
    struct loop *loop;
    struct state_driver *state_driver;
    struct state_driver_wait wait;
    int answers;    /* how often the answer to wait came */
    bool durable;   /* the last answer */
    int losses;     /* calls of on_lost */
    int batches;    /* calls of on_batch */
    bool completes; /* on_batch adds the delivery record of "completed" */
    int held;       /* bodies that are held */
    int flushes;
    bool all; /* the answer to the last flush */
};

/* In a folder below the working directory; kept false: state_dir "none". */
void state_driver_rig_init(struct state_driver_rig *r, bool kept);

/* A state driver on the folder as it is. */
void state_driver_rig_start(struct state_driver_rig *r, bool reset);

/* Ends the state driver like a kill, and waits until nothing of it is left. */
void state_driver_rig_stop(struct state_driver_rig *r);

/* Stops the state driver and deletes the folder; no body may be held any more. */
void state_driver_rig_fini(struct state_driver_rig *r);

/* Adds a delivery record whose digest is a number. */
void state_driver_rig_delivery(struct state_driver_rig *r, const char *key, uint64_t told);

/* Adds an object whose body is held. */
void state_driver_rig_object(struct state_driver_rig *r, const char *key, const char *body,
                             enum state_driver_haste haste);

/* Runs the loop until everything that was added is committed, or known not to be; was it
 * committed? */
bool state_driver_rig_commit(struct state_driver_rig *r);

/* Runs one turn of the loop: a batch that is due is given to a worker. */
void state_driver_rig_turn(struct state_driver_rig *r);

/* Runs the loop until the status has this is_writable, one turn at least. */
void state_driver_rig_until(struct state_driver_rig *r, bool writable);

/* Flushes, and runs the loop until the flush has ended. */
bool state_driver_rig_flush(struct state_driver_rig *r, uint64_t timeout_ms);

#endif
