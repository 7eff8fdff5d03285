/* SPDX-License-Identifier: Apache-2.0 */
/*
 * operator - somebody who meddles with the hooks at any moment: pauses and resumes them, and orders
 * runs.
 */
#ifndef SIM_OPERATOR_H
#define SIM_OPERATOR_H

#include "sim/sim_hooks.h"

struct operator
{
    struct clock *clock;
    struct sim_hooks *sim_hooks; /* of the daemon that lives; NULL = none does */
    unsigned percent;            /* of the moments at which something is done */
    struct alarm alarm;
};

/* Nobody is there. */
void operator_init(struct operator* p, struct clock *clock);

/* Begins. */
void operator_come(struct operator* p, unsigned percent);

/* Ends; what is paused goes on. */
void operator_leave(struct operator* p);

#endif
