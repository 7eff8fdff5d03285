/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watched - one hook as the watcher sees it; used by the files of watcher alone.
 */
#ifndef SIM_WATCHED_H
#define SIM_WATCHED_H

#include "sim/watcher.h"

/* The unit of a key. */
struct pace *watched_pace(struct watched *h, size_t source, size_t key);

/* Mode object: is anything due for the key? Else: for the hook? Orders and reruns left out. */
bool watched_due(const struct watched *h, const struct account *a);

/* Could it run though nothing is due? See watched_due(). */
bool watched_repeats(const struct watched *h, const struct account *a);

/* May none of its runs start? */
bool watched_blocked(const struct watcher *w, const struct watched *h);

/* As many sources usable as it needs? */
bool watched_has_sources(const struct watcher *w, const struct watched *h);

/* Is there a slot for one more run? */
bool watched_has_slot(const struct watcher *w, const struct watched *h);

/* Its first run has ended, well or not. */
bool watched_first_ended(const struct watched *h);

/* Nothing of the first runs is left. */
void watched_end_first(struct watched *h);

/* Have the first runs ended by now? */
void watched_check_first(struct watched *h);

/* Counts it. */
void watched_count(const struct watcher *w, enum feature f);

#endif
