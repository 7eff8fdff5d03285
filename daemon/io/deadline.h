/* SPDX-License-Identifier: Apache-2.0 */
/*
 * deadline - a one-shot timer; driver.
 */
#ifndef IO_DEADLINE_H
#define IO_DEADLINE_H

#include <stdbool.h>
#include <stdint.h>

struct deadline;
struct loop;

typedef void deadline_cb(void *arg);

/* A stopped timer, which will call cb(arg). Never NULL; release with deadline_dispose(). */
struct deadline *deadline_create(struct loop *loop, deadline_cb *cb, void *arg);

/* cb runs once, delay_ms from now, and never before the next turn of the loop. A timer that runs
 * already starts anew. */
void deadline_start(struct deadline *d, uint64_t delay_ms);

/* The same for a time of loop_now_ms(); one that is over counts as now. UINT64_MAX stops the
 * timer. */
void deadline_start_at(struct deadline *d, uint64_t due_ms);

/* cb will not run. Nothing happens if the timer is stopped already. */
void deadline_stop(struct deadline *d);

/* Is cb still to come? False inside cb. */
bool deadline_pending(const struct deadline *d);

/* How long until cb runs, in ms; UINT64_MAX = the timer is stopped. */
uint64_t deadline_left_ms(const struct deadline *d);

/* The end for the user: *d is NULL, cb never runs again; the memory goes in a later turn. May be
 * called inside cb. NULL is fine. */
void deadline_dispose(struct deadline **d);

#endif
