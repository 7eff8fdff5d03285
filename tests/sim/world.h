/* SPDX-License-Identifier: Apache-2.0 */
/*
 * world - what the hooks' programs did, compared with what the cluster has, whatever the hooks were
 * told on the way. Parked keys are left out. Panics if they differ.
 */
#ifndef SIM_WORLD_H
#define SIM_WORLD_H

#include "sim/api.h"
#include "sim/sim_hooks.h"

/* All is quiet. */
void world_check(const struct sim_hooks *c, const struct api *api);

/* All sources are gone for long. */
void world_check_outage(const struct sim_hooks *c);

#endif
