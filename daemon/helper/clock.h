/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clock - the time for timeouts and pauses of the helper, which has no libuv.
 */
#ifndef HELPER_CLOCK_H
#define HELPER_CLOCK_H

#include <stdint.h>

/* Milliseconds of CLOCK_MONOTONIC. */
uint64_t clock_now_ms(void);

#endif
