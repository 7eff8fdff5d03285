/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shortage_log - which hooks the system has no means to start runs of, told once for each kind of means:
 * when it begins and when it is over; pure but for the log.
 */
#ifndef IO_SHORTAGE_LOG_H
#define IO_SHORTAGE_LOG_H

#include "hook/hook.h"

struct shortage_log {
    enum shortage *by_hook;       /* by hook.index */
    size_t hooks[SHORTAGE_KINDS]; /* that lack it */
};

/* None. n = number of hooks. */
void shortage_log_init(struct shortage_log *s, size_t n);

/* Frees what it holds. */
void shortage_log_fini(struct shortage_log *s);

/* A run of the hook has ended with RUN_NOT_STARTED. */
void shortage_log_begin(struct shortage_log *s, const struct hook *h,
                        const struct run_result *result);

/* Hooks may have got over it: all their units that were denied have run, or need not any more. */
void shortage_log_check(struct shortage_log *s, const struct hooks *hooks);

#endif
