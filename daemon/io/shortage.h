/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shortage - which hooks the system has no means to start runs of, told once for each kind of means:
 * when it begins and when it is over; pure but for the log.
 */
#ifndef IO_SHORTAGE_H
#define IO_SHORTAGE_H

#include "hook/hook.h"

struct shortage {
    enum means *by_hook;       /* by hook.index */
    size_t hooks[MEANS_KINDS]; /* that lack it */
};

/* None. n = number of hooks. */
void shortage_init(struct shortage *s, size_t n);

/* Frees what it holds. */
void shortage_fini(struct shortage *s);

/* A run of the hook has ended with RUN_NO_MEANS. */
void shortage_begin(struct shortage *s, const struct hook *h, const struct run_result *result);

/* Hooks may have got over it: all their units that were denied have run, or need not any more. */
void shortage_check(struct shortage *s, const struct hooks *hooks);

#endif
