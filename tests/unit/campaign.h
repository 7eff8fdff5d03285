/* SPDX-License-Identifier: Apache-2.0 */
/*
 * campaign - how often a random test is tried, and how long a test may take.
 */
#ifndef UNIT_CAMPAIGN_H
#define UNIT_CAMPAIGN_H

#include <stddef.h>
#include <stdint.h>

/* A test that takes so many seconds hangs; for alarm(). No machine is that slow. */
enum { PATIENCE_S = 1000 };

/* How often this run tries a test: in_short, or in_long in a campaign (INFORMERD_LONG=1 in the
 * environment, which `./dev test --long` sets). */
size_t campaign_size(size_t in_short, size_t in_long);

/* Runs the random programs of the seeds 0, 1, ...: campaign_size() of them. In the environment,
 * PROGRAM=N has it run that of seed N alone, PROGRAMS=N the first N. */
void campaign_programs(void (*run)(uint64_t seed), size_t in_short, size_t in_long);

/* Returns failed, for main(). If it is not 0, standard error has the PROGRAM=N of the last
 * program. */
int campaign_verdict(int failed);

#endif
