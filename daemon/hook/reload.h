/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reload - changes the hooks of a running daemon: adds, changes in place, removes or replaces one;
 * pure. A hook that is removed or replaced ends its runs first: hook_retire(), then, once
 * hook_is_retired() says so, hooks_remove() or hooks_replace(). A replacement works as a restart does:
 * the new hook gets the records of the old one, and then the content of its sources. Other hooks
 * notice nothing.
 */
#ifndef HOOK_RELOAD_H
#define HOOK_RELOAD_H

#include <stdbool.h>
#include <stdint.h>

#include "hook/hook.h"

/* Gives the hook other settings of time, retry, limits and order: rules.require, when_stale, after,
 * park_exit, parked_deletes and parked_age_ms, both work queues, and index. They count from now on, also
 * for work items that wait now: a pause or a settle time under way ends when the new settings say so,
 * but never later because retry became longer. Runs under way go on. Other members of params must be
 * those of the hook. Arrays are swapped: params has the old ones afterwards. */
void hook_change(struct hook *h, struct hook_params *params, uint64_t now_ms);

/* A reload has another number of shared slots. Runs under way go on. */
void hooks_set_slots(struct hooks *hs, unsigned shared_slots);

/* The hook, which has just come or was just replaced, starts no run until hook_serve(). */
void hook_hold(struct hook *h);

/* The hook starts runs again: after hook_hold(), or after hook_retire() if it is to stay after all. */
void hook_serve(struct hook *h);

/* The hook starts no run from now on. It still takes changes of its sources. */
void hook_retire(struct hook *h);

/* Does the hook retire, and have its runs ended? A removal of its stray files may still be under way: it
 * must end before the hook goes. Files that are due stay due, as their records are handed over or kept. */
bool hook_is_retired(const struct hook *h);

/* Frees a retired hook and sets *h to NULL. Hooks behind it in `after` do not wait for it any
 * more. */
void hooks_remove(struct hooks *hs, struct hook **h);

/* Puts a new hook in the place of a retired one, which is freed, and gives it the records of the old
 * one: delivery records of sources that both have by name, files, and the outages, renewals and manual
 * runs that the hook owes. All records of the old hook must have been put (delivery_log_put(),
 * files_put(), strays_put()), as the new one counts them as kept. Its gate is closed, as at a start.
 * hook_record_renew() may follow, then hook_attach(). */
struct hook *hooks_replace(struct hooks *hs, struct hook *old, struct hook_params *params,
                           struct now now);

/* Shows the hook the objects that its sources have already told other hooks, as watch_restore() does at
 * a start, and which of them are stale. Once, after its records were restored. */
void hook_attach(struct hook *h, struct now now);

#endif
