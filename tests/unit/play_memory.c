/* SPDX-License-Identifier: Apache-2.0 */
#include "play_memory.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

static unsigned fails;
static unsigned seen;
static size_t least;

void play_memory_fail(unsigned number, size_t bytes)
{
    fails = number;
    least = bytes;
    seen = 0;
}

unsigned play_memory_seen(void)
{
    return seen;
}

/* mem_try_realloc() is its only caller. */
/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name) */
void *reallocarray(void *p, size_t n, size_t size)
{
    bool counts = n * size >= least;

    seen += counts;
    if (!counts || seen != fails)
        return realloc(p, n * size);
    errno = ENOMEM;
    return NULL;
}
