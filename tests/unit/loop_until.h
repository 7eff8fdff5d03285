/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loop_until - runs a loop until a condition holds. It looks in each turn and needs no timer: the
 * clock may stand (play_clock.h), and no number of looks is too many.
 */
#ifndef UNIT_LOOP_UNTIL_H
#define UNIT_LOOP_UNTIL_H

#include <stdbool.h>

#include "io/loop.h"

/* Until is_true() says so, or somebody else stops the loop; one turn at least. */
void loop_until(struct loop *loop, bool (*is_true)(void *arg), void *arg);

/* Runs the loop for so many turns, one per millisecond: timers that fall due in them fire. */
void loop_turns(struct loop *loop, unsigned turns);

#endif
