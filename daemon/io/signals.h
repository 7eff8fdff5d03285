/* SPDX-License-Identifier: Apache-2.0 */
/*
 * signals - process signals as calls from the loop; driver.
 */
#ifndef IO_SIGNALS_H
#define IO_SIGNALS_H

#include <stddef.h>

struct loop;
struct signals;

/* A signal came. */
typedef void signals_cb(void *arg, int signal_number);

/* Catches the n signals from now on. Never NULL. */
struct signals *signals_create(struct loop *loop, const int *numbers, size_t n, signals_cb *cb,
                               void *arg);

/* The end for the user: *s is NULL, the signals get their old meaning. NULL is fine. */
void signals_dispose(struct signals **s);

#endif
