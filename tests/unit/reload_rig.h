/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reload_rig - two configurations as a reload has them, and the plan from one to the other.
 */
#ifndef UNIT_RELOAD_RIG_H
#define UNIT_RELOAD_RIG_H

#include "app/reload_plan.h"

struct reload_rig {
    struct conf *conf;
    struct cluster_access_list list;
    char *node_name; /* of the setting, or "found-out" */
};

/* Reads a configuration that must be right, from main.conf of the working folder. */
void reload_rig_load(struct reload_rig *l, const char *text);

/* Frees it. */
void reload_rig_unload(struct reload_rig *l);

/* The plan from one to the other. */
struct reload_plan *reload_rig_plan(const struct reload_rig *was,
                                    const struct reload_rig *now) MUST_CHECK;

/* Expects this plan, as lines without the entries that stay: KIND NAME CHANGE KEY,KEY = FIRST (BECAUSE)
 * -> EFFECT. Also that each element has its entry, at its place. */
void reload_rig_expect(const struct reload_rig *was, const struct reload_rig *now,
                       const char *expected);

/* A copy of text with another text in the place of the first `from`, which must be there. */
char *reload_rig_replaced(const char *text, const char *from, const char *to) MUST_CHECK;

#endif
