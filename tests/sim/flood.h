/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flood - changes without end of a thousand keys while the hooks' programs hang: memory is bounded
 * by the keys, and once the programs end there is one more run for each.
 */
#ifndef SIM_FLOOD_H
#define SIM_FLOOD_H

#include <stdint.h>

/* So many changes, then the programs end. Prints what it took; panics if a promise is broken. */
void flood_run(uint64_t changes, uint64_t seed);

#endif
