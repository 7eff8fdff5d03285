/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim_reload - reloads of the simulated daemon: its hooks change in place, are replaced, dropped and
 * added while it runs. Only hooks of a daemon with delivery records are replaced, dropped or added:
 * sim/restart_oracle judges them as after a restart, while sim/hook_checker sees that the other hooks
 * notice nothing.
 */
#ifndef SIM_SIM_RELOAD_H
#define SIM_SIM_RELOAD_H

#include "sim/sim_hooks.h"

/* Draws other settings of time, retry, limits and order for a hook; v: the rules of all hooks, which
 * c has. */
void sim_reload_change(struct sim_hooks *c, struct rules v[HOOKS], size_t hook);

/* Replaces the hook once its runs have ended. renew: by one with another program. */
void sim_reload_replace(struct sim_hooks *c, size_t hook, bool renew);

/* Drops the hook once its runs have ended. */
void sim_reload_drop(struct sim_hooks *c, size_t hook);

/* Adds a hook that was dropped. */
void sim_reload_add(struct sim_hooks *c, size_t hook);

/* Was the hook dropped, in this process or an earlier one? */
bool sim_reload_is_dropped(const struct sim_hooks *c, size_t hook);

/* A reload replaces this watch: all hooks that have it, or its view, as a source retire. When the runs
 * of all of them have ended, c->params.change rings. */
void sim_reload_retire_all(struct sim_hooks *c, size_t watch);

/* Have these hooks retired? */
bool sim_reload_is_due(const struct sim_hooks *c);

/* Replaces them: the sources in c->params are the new ones. */
void sim_reload_replace_all(struct sim_hooks *c);

/* Shows them the objects of their sources. */
void sim_reload_attach_all(struct sim_hooks *c);

/* There are no more reloads: hooks that were dropped, or are to be, are there again. */
void sim_reload_end(struct sim_hooks *c);

/* A run has ended: carries out the steps that have waited for it. */
void sim_reload_look(struct sim_hooks *c);

#endif
