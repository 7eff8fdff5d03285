/* SPDX-License-Identifier: Apache-2.0 */
/*
 * digest - 128-bit fingerprint of bytes, for "is this the same as before"; pure. The only home of
 * xxHash but for map.c. Not for secrets: it resists accidents, not attackers.
 */
#ifndef BASE_DIGEST_H
#define BASE_DIGEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct digest {
    uint64_t lo;
    uint64_t hi;
};

/* The digest of n bytes. */
struct digest digest_of(const void *data, size_t n);

/* Equal digests mean equal bytes for all purposes here. */
bool digest_eq(struct digest a, struct digest b);

/* For two digests of 64 bits side by side, of which one is enough. */
bool digest_either(struct digest a, struct digest b);

#endif
