/* SPDX-License-Identifier: Apache-2.0 */
/*
 * checked_hook - one hook as the watcher sees it; used by the files of watcher alone.
 */
#ifndef SIM_CHECKED_HOOK_H
#define SIM_CHECKED_HOOK_H

#include "sim/hook_checker.h"

/* The unit of a key. */
struct run_timing *checked_hook_pace(struct checked_hook *h, size_t source, size_t key);

/* Mode object: is anything due for the key? Else: for the hook? Orders and reruns left out. */
bool checked_hook_due(const struct checked_hook *h, const struct delivery_model *a);

/* Could it run though nothing is due? See checked_hook_due(). */
bool checked_hook_repeats(const struct checked_hook *h, const struct delivery_model *a);

/* May none of its runs start? */
bool checked_hook_blocked(const struct hook_checker *w, const struct checked_hook *h);

/* As many sources usable as it needs? */
bool checked_hook_has_sources(const struct hook_checker *w, const struct checked_hook *h);

/* Is there a slot for one more run? */
bool checked_hook_has_slot(const struct hook_checker *w, const struct checked_hook *h);

/* Its first run has ended, well or not. */
bool checked_hook_first_ended(const struct checked_hook *h);

/* Nothing of the first runs is left. */
void checked_hook_end_first(struct checked_hook *h);

/* Have the first runs ended by now? */
void checked_hook_check_first(struct checked_hook *h);

/* Counts it. */
void checked_hook_count(const struct hook_checker *w, enum feature f);

#endif
