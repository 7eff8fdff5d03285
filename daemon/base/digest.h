/* SPDX-License-Identifier: Apache-2.0 */
/*
 * digest - a fingerprint of bytes with 128 bits, to see whether something is the same as before;
 * pure. Only this file and map.c use xxHash. Not for secrets: it protects against accidents, not
 * against attackers.
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

/* The digest of one thing by the rules of this release (`now`), and by those of the release before
 * (`former`). The state keeps both, so that each of the two releases can go on with the state that the
 * other has left (docs/decisions.md "The state has two digests of a hook"). */
struct digest_forms {
    struct digest now;
    struct digest former;
};

/* The digest of n bytes. */
struct digest digest_of(const void *data, size_t n);

/* Are two digests equal? Everywhere in informerd that means that the bytes are equal. */
bool digest_eq(struct digest a, struct digest b);

/* Is one half of two digests equal? For digests that are two digests of 64 bits side by side, of
 * which one is enough
 * (docs/decisions.md "A delivery record has a digest of bytes and one of value"). */
bool digest_either(struct digest a, struct digest b);

#endif
