/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/clock.h"

#include <limits.h>
#include <time.h>

#include "base/panic.h"

uint64_t clock_ms(void)
{
    struct timespec t;

    ensure(clock_gettime(CLOCK_MONOTONIC, &t) == 0);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

int clock_left_ms(uint64_t until_ms)
{
    uint64_t now = clock_ms();
    uint64_t left = until_ms > now ? until_ms - now : 0;

    return left < INT_MAX ? (int)left : INT_MAX;
}
