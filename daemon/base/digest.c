/* SPDX-License-Identifier: Apache-2.0 */
#include "base/digest.h"

#include <xxhash.h>

struct digest digest_of(const void *data, size_t n)
{
    XXH128_hash_t h = XXH3_128bits(data, n);

    return (struct digest){.lo = h.low64, .hi = h.high64};
}

bool digest_eq(struct digest a, struct digest b)
{
    return a.lo == b.lo && a.hi == b.hi;
}

bool digest_either(struct digest a, struct digest b)
{
    return a.lo == b.lo || a.hi == b.hi;
}
