/* SPDX-License-Identifier: Apache-2.0 */
/*
 * world - what the hooks' programs did, compared with what the cluster has, whatever the hooks were
 * told on the way. Parked keys are left out. Panics if they differ.
 */
#ifndef SIM_WORLD_H
#define SIM_WORLD_H

#include "sim/api.h"
#include "sim/crew.h"

/* All is quiet. */
void world_check(const struct crew *c, const struct api *api);

/* All sources are gone for long. */
void world_check_outage(const struct crew *c);

#endif
