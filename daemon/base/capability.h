/* SPDX-License-Identifier: Apache-2.0 */
/*
 * capability - the capabilities of Linux (capabilities(7)) by their names and numbers, and sets of
 * them as bits; pure.
 */
#ifndef BASE_CAPABILITY_H
#define BASE_CAPABILITY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/compiler.h"

/* The bit of a capability: 1 << its number. */
#define CAPABILITY_BIT(number) (UINT64_C(1) << (unsigned)(number))
#define CAPABILITY_ALL         UINT64_MAX

/* Finds "CAP_NET_ADMIN"; false: there is no such capability, and *number is left alone. */
bool capability_find(const char *name, unsigned *number) MUST_CHECK;

/* Appends the names of the set in the order of their numbers, with a space between them. A
 * capability that is too new for this release is its number. */
void capability_put(struct buf *out, uint64_t set);

#endif
