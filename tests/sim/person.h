/* SPDX-License-Identifier: Apache-2.0 */
/*
 * person - somebody who meddles with the hooks at any moment: pauses and resumes them, and orders
 * runs.
 */
#ifndef SIM_PERSON_H
#define SIM_PERSON_H

#include "sim/crew.h"

struct person {
    struct clock *clock;
    struct crew *crew; /* of the daemon that lives; NULL = none does */
    unsigned percent;  /* of the moments at which something is done */
    struct alarm alarm;
};

/* Nobody is there. */
void person_init(struct person *p, struct clock *clock);

/* Begins. */
void person_come(struct person *p, unsigned percent);

/* Ends; what is paused goes on. */
void person_leave(struct person *p);

#endif
