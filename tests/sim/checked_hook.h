/* SPDX-License-Identifier: Apache-2.0 */
/*
 * checked_hook - one hook as hook_checker sees it; only for the files of hook_checker.
 */
#ifndef SIM_CHECKED_HOOK_H
#define SIM_CHECKED_HOOK_H

#include "sim/hook_checker.h"

/* The timing of the work item that a key belongs to. */
struct run_timing *checked_hook_timing(struct checked_hook *h, size_t source, size_t key);

/* Is anything due, for the key in mode object, for the hook otherwise? Manual runs and reruns do
 * not count. */
bool checked_hook_due(const struct checked_hook *h, const struct delivery_model *a);

/* Could the key, or the hook, run although nothing is due? */
bool checked_hook_repeats(const struct checked_hook *h, const struct delivery_model *a);

/* Does limits.memory keep objects out of a source of the hook? */
bool checked_hook_lacks(const struct hook_checker *w, const struct rules *r);

/* Is the hook kept from starting any run: not open yet, paused, or waiting for a source that is stale or
 * incomplete? */
bool checked_hook_blocked(const struct hook_checker *w, const struct checked_hook *h);

/* Are as many sources usable as the hook needs? */
bool checked_hook_has_sources(const struct hook_checker *w, const struct checked_hook *h);

/* Is there a slot for one more run of the hook? */
bool checked_hook_has_slot(const struct hook_checker *w, const struct checked_hook *h);

/* Have the first runs of the hook ended, well or not, as hooks behind it in `after` see it? */
bool checked_hook_first_ended(const struct checked_hook *h);

/* The first runs are over: the hook opens, or its first apply comes next. */
void checked_hook_end_first(struct checked_hook *h);

/* Ends the first runs if nothing of them is left. */
void checked_hook_check_first(struct checked_hook *h);

/* Counts a situation. */
void checked_hook_count(const struct hook_checker *w, enum feature f);

#endif
