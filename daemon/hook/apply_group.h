/* SPDX-License-Identifier: Apache-2.0 */
/*
 * apply_group - hooks that share one program `apply`, for example the reload of one nginx, and when it
 * runs (docs/design.md "Apply"); pure. Each hook knows by itself whether it has something to apply
 * (hook/apply); one run is for all hooks that do. A hook that shares its program with nobody is a group
 * of one. Used by the files of hook/hook alone.
 */
#ifndef HOOK_APPLY_GROUP_H
#define HOOK_APPLY_GROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"

struct hook;
struct hooks;
struct run;

/* Lives as long as it has a hook. */
struct apply_group {
    struct list link;    /* in hooks.apply_groups */
    struct list applies; /* struct apply by link, in the order in which their hooks came */
    size_t n;
    char *key; /* equal for hooks that share the program; NULL = shared with nobody */
};

/* The hook, which has a program `apply`, joins the group with this key, or makes it. key NULL: it
 * shares the program with nobody. */
void apply_group_join(struct hooks *hs, struct hook *h, const char *key);

/* The hook leaves its group, if it is in one. No run is under way for it. */
void apply_group_leave(struct hook *h);

/* Decides for all groups whether their program may start. Before each scheduler_next(). */
void apply_groups_hold(struct hooks *hs, uint64_t now_ms);

/* The scheduler has let the apply of the hook it has chosen start: makes the run, which is for all
 * hooks of the group that have something to apply and may. It has no id yet. */
struct run *apply_group_start(struct hook *chosen, uint64_t now_ms);

/* The hook of the group behind `previous` (NULL: the first one), without h itself; NULL = there is
 * no other one. */
const struct hook *apply_group_next(const struct hook *h, const struct hook *previous);

/* The other hook of the group for which this one waits: one that the program runs for, or that may
 * write more files; NULL = it waits for none. */
const struct hook *apply_group_awaited(const struct hook *h, uint64_t now_ms);

#endif
