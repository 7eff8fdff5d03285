/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shortage_log - remembers of which hooks no run could be started because the system lacked
 * descriptors, processes or memory, and logs for each kind of shortage when it begins and when it
 * is over; pure but for the log.
 */
#ifndef IO_SHORTAGE_LOG_H
#define IO_SHORTAGE_LOG_H

#include "hook/hook.h"

struct shortage_log {
    enum shortage *by_hook;       /* by hook.index: what the hook lacks */
    size_t hooks[SHORTAGE_KINDS]; /* number of hooks that lack it */
};

/* Begins without a shortage. n = number of hooks. */
void shortage_log_init(struct shortage_log *s, size_t n);

/* Frees the memory that it holds. */
void shortage_log_fini(struct shortage_log *s);

/* Notes that a run of the hook has ended with RUN_NOT_STARTED; logs the first one of this kind of
 * shortage. */
void shortage_log_begin(struct shortage_log *s, const struct hook *h,
                        const struct run_result *result);

/* Looks for hooks that have got over their shortage: each of their work items that were not started
 * has run since, or has nothing due any more. Logs when no hook lacks a resource any more. */
void shortage_log_check(struct shortage_log *s, const struct hooks *hooks);

#endif
