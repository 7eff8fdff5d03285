/* SPDX-License-Identifier: Apache-2.0 */
/*
 * operator - a person who meddles with the hooks at any moment: pauses and resumes them, wants
 * manual runs, and reloads other settings.
 */
#ifndef SIM_OPERATOR_H
#define SIM_OPERATOR_H

#include "sim/sim_hooks.h"

struct operator
{
    struct clock *clock;
    struct rules *rules;         /* HOOKS elements, which reloads change */
    struct sim_hooks *sim_hooks; /* of the daemon that runs; NULL = no daemon runs */
    unsigned percent;            /* at so many moments of 100 the person does something */
    unsigned reload_percent;     /* and at so many reloads the configuration */
    struct alarm alarm;
};

/* The person is not there yet. */
void operator_init(struct operator* p, struct clock *clock, struct rules *rules);

/* The person begins to meddle. */
void operator_come(struct operator* p, const struct setup *setup);

/* The person leaves, adds the hooks that were dropped, and resumes all paused ones. */
void operator_leave(struct operator* p);

#endif
