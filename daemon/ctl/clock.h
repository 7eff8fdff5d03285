/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clock - the monotonic clock of informerctl, in ms; driver.
 */
#ifndef CTL_CLOCK_H
#define CTL_CLOCK_H

#include <stdint.h>

/* The time now. */
uint64_t clock_ms(void);

/* The ms that are left until then, for poll(): 0 = it has passed. */
int clock_left_ms(uint64_t until_ms);

#endif
