/* SPDX-License-Identifier: Apache-2.0 */
/*
 * capability_sets - the capability sets of the calling thread: reads them, and raises and lowers
 * them; driver. Sets are bits, see base/capability.h. Each function returns 0 or an errno.
 */
#ifndef HELPER_CAPABILITY_SETS_H
#define HELPER_CAPABILITY_SETS_H

#include <stdint.h>

#include "base/compiler.h"

struct capability_sets {
    uint64_t effective;
    uint64_t permitted;
    uint64_t inheritable;
};

/* Reads all three sets. After an error *out is empty. */
int capability_sets_read(struct capability_sets *out) MUST_CHECK;

/* Sets all three; the kernel permits none anew. */
int capability_sets_write(const struct capability_sets *sets) MUST_CHECK;

/* Gives up for good what is permitted and does not count now, so that nothing counts later that has not
 * counted before. */
int capability_sets_settle(void) MUST_CHECK;

/* From now on those of needed count that are permitted, and no others. */
int capability_sets_limit(uint64_t needed) MUST_CHECK;

/* From now on these count, too, as far as they are permitted. */
int capability_sets_raise(uint64_t wanted) MUST_CHECK;

/* From now on the thread has these and no others, and a program that it enters by exec has them as well,
 * whatever its user is (ambient). EPERM: one of them is not permitted. */
int capability_sets_become(uint64_t exactly) MUST_CHECK;

#endif
