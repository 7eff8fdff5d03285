/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory_limit - decides whether a watch may grow, and when one that was stopped has room again
 * (docs/design.md "Memory"); pure. All watches share one limit.
 */
#ifndef CACHE_MEMORY_LIMIT_H
#define CACHE_MEMORY_LIMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The setting, and who shares it. Zero-initialised: no limit. */
struct memory_limit {
    uint64_t bytes; /* limits.memory; 0 = none */
    size_t watches; /* that there are now */
};

/* The cause of growth. Events stop first, so that there is room left for the list that a watch
 * needs to become complete again. */
enum memory_growth { MEMORY_EVENT, MEMORY_LIST };

/* May a watch that holds `own` bytes grow while all caches hold `used`? Events may until 6/8 of the
 * limit are used, lists until 7/8. The last eighth is for small watches: each may grow to its part of
 * that eighth, so a large watch cannot keep a small one from being complete. m may be NULL: no limit. */
bool memory_may_grow(const struct memory_limit *m, uint64_t used, uint64_t own,
                     enum memory_growth by);

/* A watch was stopped that had staged so many bytes: how much has to be free before it begins again.
 * At least a sixteenth of the limit, so that it does not list in a loop. */
uint64_t memory_wanted(const struct memory_limit *m, uint64_t staged);

/* Is there room now for a watch that wants so much (memory_wanted())? */
bool memory_has_room(const struct memory_limit *m, uint64_t used, uint64_t own, uint64_t wanted);

#endif
