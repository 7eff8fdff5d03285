/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program - a run that sim_hooks has started: it waits until its delivery records are on disk, as
 * in io/runner, takes its time, and ends, or dies with the daemon. Only for sim/sim_hooks.
 */
#ifndef SIM_PROGRAM_H
#define SIM_PROGRAM_H

#include "sim/sim_hooks.h"

/* Starts a run that the scheduler has given out. The run ends by itself. */
void program_start(struct sim_hooks *c, struct run *run);

/* All runs fail, as when the daemon is stopped. */
void program_stop_all(struct sim_hooks *c);

/* All programs die. With a daemon that has delivery records they may have had their effects. */
void program_kill_all(struct sim_hooks *c);

#endif
