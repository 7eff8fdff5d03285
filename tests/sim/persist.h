/* SPDX-License-Identifier: Apache-2.0 */
/*
 * persist - the state that outlives a simulated daemon with delivery records, and the oracles that judge
 * how the next process uses it.
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
    struct handler *handlers; /* HOOKS elements */
    struct disk disk;
    struct disk_hooks disk_hooks;
    struct restart_oracle restart_oracle;
    struct outputs outputs[HOOKS];
    /* The hook is to be renewed once its runs have ended, or the process has. */
    bool renewals[HOOKS];
};

/* Makes an empty state. All pointers are borrowed; rules and handlers have HOOKS elements. */
void persist_init(struct persist *m, struct clock *clock, const struct api *api,
                  const struct rules *rules, struct handler *handlers, uint64_t *features);

/* Frees all that the state holds. */
void persist_fini(struct persist *m);

/* The daemon has died, or has ended in order: then all batches are on disk. */
void persist_end_incarnation(struct persist *m, bool orderly);

/* The effects of the hook are gone: the daemon has to renew it, now or in the next process. */
void persist_renew(struct persist *m, size_t hook);

/* Each hook is, with this chance, another one in the next process: its effects are gone. */
void persist_renew_some(struct persist *m, unsigned percent);

#endif
