/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source_status - the part of the status of a watch or view that each input of a hook has; pure.
 */
#ifndef CACHE_SOURCE_STATUS_H
#define CACHE_SOURCE_STATUS_H

#include <stdbool.h>
#include <stdint.h>

/* The contact of a view is the older one of its two watches'; a view is held, or incomplete, if
 * one of its watches is. */
struct source_status {
    bool synced;
    bool stale;
    bool incomplete;         /* limits.memory keeps objects out of it: hooks wait */
    bool held;               /* by the guard */
    bool contact;            /* false: the server was never heard; contact_age_ms is 0 */
    uint64_t contact_age_ms; /* since the last good byte */
};

#endif
