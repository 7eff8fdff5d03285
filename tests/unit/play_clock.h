/* SPDX-License-Identifier: Apache-2.0 */
/*
 * play_clock - the clock that libuv reads, under control of a test: a timer of an hour fires now,
 * and a timer that must not fire does not, however slow the machine is.
 *
 * A test that is linked with it has its clock_gettime() in place of that of the C library; only the
 * monotonic clocks differ, and the wall clock after play_clock_set_wall(). A loop looks at the clock once per turn.
 */
#ifndef UNIT_PLAY_CLOCK_H
#define UNIT_PLAY_CLOCK_H

#include <stdint.h>

/* Stops the clock; only timers that are due now fire. */
void play_clock_stop(void);

/* The clock goes on, so many times as slow as the real one; a child that is forked now inherits
 * that. */
void play_clock_slow(unsigned times);

/* The clock goes on from where it is, as fast as the real one. */
void play_clock_go(void);

/* Moves the clock, whether it stands or goes. */
void play_clock_pass(uint64_t ms);

/* Each look at the clock moves it by so much. */
void play_clock_step(uint64_t ms);

/* The wall clock stands at this time from now on. */
void play_clock_set_wall(int64_t since_1970_s);

#endif
