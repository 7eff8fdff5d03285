/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rules - the settings of the simulated hooks: drawn anew for each simulation.
 */
#ifndef SIM_RULES_H
#define SIM_RULES_H

#include <stdbool.h>
#include <stddef.h>

#include "hook/hook.h"
#include "sim/setup.h"

enum { HOOKS = 6, RULES_SOURCES = 2, RULES_STATUSES = 4 };

struct rules {
    char name[16];
    size_t sources[RULES_SOURCES]; /* perhaps the same one under two names */
    unsigned events;               /* bit 1 << enum delta_type */
    bool narrow;                   /* changes_in: data.value */
    bool fields;                   /* data.noise is to become a variable, which it cannot always */
    bool include_old;
    enum hook_mode mode;
    enum hook_existing existing;
    enum hook_require require;
    enum hook_when_stale when_stale;
    unsigned after;     /* bit 1 << hook */
    unsigned park_exit; /* bit 1 << status; statuses are 1 to RULES_STATUSES */
    struct work_queue_params work_queue;
    bool output; /* what it prints becomes a file, of each key in mode object */
    bool applies;
    struct work_queue_params apply;
    unsigned apply_percent;       /* of its runs that fail */
    unsigned file_percent;        /* of files that cannot be written, or fail in the check */
    unsigned percent;             /* of runs that fail */
    unsigned hang_percent;        /* of those */
    unsigned not_started_percent; /* of runs that cannot be started */
    unsigned slow_percent;        /* of runs that do not hang */
};

/* Draws the settings of all hooks. */
void rules_draw(struct rules v[HOOKS], struct clock *clock, const struct setup *setup);

/* Does the hook take events of this type? */
bool rules_take(const struct rules *r, enum delta_type type);

/* Does it take all that can happen to an object? */
bool rules_take_all(const struct rules *r);

/* Is the outage of a source anything that it hears of? */
bool rules_take_outages(const struct rules *r);

/* Traces the settings of all hooks. */
void rules_trace(const struct rules v[HOOKS], const struct clock *clock);

/* What the hook core is given; v[number] is the hook. All but the sources. */
struct hook_params rules_params(const struct rules *v, size_t number);

#endif
