/* SPDX-License-Identifier: Apache-2.0 */
/*
 * campaign - the size of what can be tried any number of times, and how long a test may take.
 */
#ifndef UNIT_CAMPAIGN_H
#define UNIT_CAMPAIGN_H

#include <stddef.h>

/* After so many seconds a test hangs; for alarm(). No machine is so slow that a test takes them. */
enum { PATIENCE_S = 1000 };

/* How often this run tries it: in_short, or in_long in a campaign (INFORMERD_LONG=1 in the environment,
 * which `./dev test --long` sets). */
size_t campaign_size(size_t in_short, size_t in_long);

#endif
