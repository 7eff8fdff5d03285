/* SPDX-License-Identifier: Apache-2.0 */
/*
 * play_memory - the memory that mem_try_realloc() gets, under control of a test: one allocation fails.
 *
 * A test that is linked with it has its reallocarray() in place of that of the C library.
 */
#ifndef UNIT_PLAY_MEMORY_H
#define UNIT_PLAY_MEMORY_H

#include <stddef.h>

/* From now on the number-th allocation (from 1) of at least so many bytes fails; 0 = none. */
void play_memory_fail(unsigned number, size_t bytes);

/* How many allocations of that size there were since. */
unsigned play_memory_seen(void);

#endif
