/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flood - endless changes of a thousand keys while the programs of hooks hang: memory is bounded by
 * the number of keys, and when the programs end, each key has one more run.
 */
#ifndef SIM_FLOOD_H
#define SIM_FLOOD_H

#include <stdint.h>

/* Makes so many changes, then ends the programs. Prints the memory and time that this took; panics
 * if a promise is broken. */
void flood_run(uint64_t changes, uint64_t seed);

#endif
