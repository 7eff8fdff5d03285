/* SPDX-License-Identifier: Apache-2.0 */
/*
 * world - compares the effects of the hooks' programs with the cluster, whatever the hooks were
 * told on the way. Parked keys are left out. Panics if they differ.
 */
#ifndef SIM_WORLD_H
#define SIM_WORLD_H

#include "sim/api.h"
#include "sim/sim_hooks.h"

/* All is quiet: panics if the effects, snapshots or files differ from the cluster. */
void world_check(const struct sim_hooks *c, const struct api *api);

/* All sources have been gone for long: panics if a hook that takes STALE has not handled it. */
void world_check_outage(const struct sim_hooks *c);

/* All is quiet and on disk: panics if the disk has rows of objects that are gone, or lacks objects. */
void world_check_disk(const struct sim_hooks *c, const struct disk *disk, const struct api *api);

#endif
