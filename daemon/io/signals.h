/* SPDX-License-Identifier: Apache-2.0 */
/*
 * signals - process signals as calls from the loop; driver.
 */
#ifndef IO_SIGNALS_H
#define IO_SIGNALS_H

#include <stddef.h>

struct loop;
struct signals;

/* Called from the loop when one of the signals came. */
typedef void signals_cb(void *arg, int signal_number);

/* Catches the n > 0 signals (numbers, copied) from now on. Never NULL; release with
 * signals_dispose(). */
struct signals *signals_create(struct loop *loop, const int *numbers, size_t n, signals_cb *cb,
                               void *arg);

/* The end for the user: *s is NULL, cb never runs again, the signals have their default effect
 * again. NULL is fine. */
void signals_dispose(struct signals **s);

#endif
