/* SPDX-License-Identifier: Apache-2.0 */
/*
 * meter - how many bytes the objects of the caches take in this process, with the records that are
 * kept for each key: limits.memory compares with it (docs/design.md "Memory"). Memory belongs to
 * the process, so there is one count in it. Only the main thread makes and frees these objects.
 */
#ifndef BASE_METER_H
#define BASE_METER_H

#include <stddef.h>

/* malloc() needs about so much for itself, and an entry of a hash table its part of the table. */
#define METER_BLOCK ((size_t)16)
#define METER_SLOT  ((size_t)32)

/* Use the functions. */
extern size_t meter_count;

/* A block of n bytes was made. */
static inline void meter_add(size_t n)
{
    meter_count += n;
}

/* That block was freed. */
static inline void meter_sub(size_t n)
{
    meter_count -= n;
}

/* The bytes of all blocks. */
static inline size_t meter_bytes(void)
{
    return meter_count;
}

#endif
