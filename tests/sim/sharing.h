/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sharing - judges runs of apply that several simulated hooks share, by docs/design.md "Apply": one
 * at a time, and not while another hook may write more.
 */
#ifndef SIM_SHARING_H
#define SIM_SHARING_H

#include "sim/sim_hooks.h"

/* Calls fn for each hook that the run of apply is for. */
void sharing_each(const struct run *run, void (*fn)(struct sim_hooks *c, size_t hook, void *arg),
                  struct sim_hooks *c, void *arg);

/* May the hook have to wait for another one that shares its apply? *until_ms: until when it may have had to,
 * if the other one does nothing more. */
bool sharing_waits(const struct sim_hooks *c, size_t hook, uint64_t *until_ms);

/* A run of apply starts: panics if it must not. */
void sharing_check_start(struct sim_hooks *c, const struct run *run);

#endif
