/* SPDX-License-Identifier: Apache-2.0 */
/*
 * persist - what outlives a simulated daemon, and those who judge what it makes of that.
 */
#ifndef SIM_PERSIST_H
#define SIM_PERSIST_H

#include "sim/disk.h"
#include "sim/disk_hooks.h"
#include "sim/handler.h"
#include "sim/outputs.h"
#include "sim/restart_oracle.h"

struct persist {
    struct clock *clock;
    struct handler *handlers; /* HOOKS of them */
    struct disk disk;
    struct disk_hooks disk_hooks;
    struct restart_oracle restart_oracle;
    struct outputs outputs[HOOKS];
};

/* Nothing is known. All is borrowed; rules, handlers: HOOKS of them. */
void persist_init(struct persist *m, struct clock *clock, const struct api *api,
                  const struct rules *rules, struct handler *handlers, uint64_t *features);

/* Frees what it holds. */
void persist_fini(struct persist *m);

/* The daemon has died, or ended in order: then all of it is on disk. */
void persist_end_incarnation(struct persist *m, bool orderly);

/* Some hooks are other ones by the next life: what they did is gone. */
void persist_renew_some(struct persist *m, unsigned percent);

#endif
