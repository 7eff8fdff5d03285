/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program - what a crew has started: it opens until its marks are on disk, as in io/runner, takes
 * its time, and ends, or dies with the daemon. For crew alone.
 */
#ifndef SIM_PROGRAM_H
#define SIM_PROGRAM_H

#include "sim/sim_hooks.h"

/* Starts a run that has left the schedule. It ends by itself. */
void program_start(struct sim_hooks *c, struct run *run);

/* All end as those do that the daemon ends. */
void program_stop_all(struct sim_hooks *c);

/* All are gone; of a daemon that remembers they may have had their effects. */
void program_kill_all(struct sim_hooks *c);

#endif
