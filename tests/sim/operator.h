/* SPDX-License-Identifier: Apache-2.0 */
/*
 * operator - a person who meddles with the hooks at any moment: pauses and resumes them, and wants
 * manual runs.
 */
#ifndef SIM_OPERATOR_H
#define SIM_OPERATOR_H

#include "sim/sim_hooks.h"

struct operator
{
    struct clock *clock;
    struct sim_hooks *sim_hooks; /* of the daemon that runs; NULL = no daemon runs */
    unsigned percent;            /* at so many moments of 100 the person does something */
    struct alarm alarm;
};

/* The person is not there yet. */
void operator_init(struct operator* p, struct clock *clock);

/* The person begins to meddle. */
void operator_come(struct operator* p, unsigned percent);

/* The person leaves and resumes all paused hooks. */
void operator_leave(struct operator* p);

#endif
