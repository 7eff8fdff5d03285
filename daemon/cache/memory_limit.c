/* SPDX-License-Identifier: Apache-2.0 */
#include "cache/memory_limit.h"

/* The part of each watch in the eighth that is kept for small ones. */
static uint64_t share_of(const struct memory_limit *m)
{
    return m->bytes / 8 / (m->watches > 0 ? m->watches : 1);
}

static uint64_t bound_of(const struct memory_limit *m, enum memory_growth by)
{
    return m->bytes / 8 * (by == MEMORY_LIST ? 7 : 6);
}

bool memory_may_grow(const struct memory_limit *m, uint64_t used, uint64_t own,
                     enum memory_growth by)
{
    if (m == NULL || m->bytes == 0 || used < bound_of(m, by))
        return true;
    /* Objects that only hooks still hold are in no store, so the limit is for small watches, too. */
    return used < m->bytes && own < share_of(m);
}

uint64_t memory_wanted(const struct memory_limit *m, uint64_t staged)
{
    return staged > m->bytes / 16 ? staged : m->bytes / 16;
}

bool memory_has_room(const struct memory_limit *m, uint64_t used, uint64_t own, uint64_t wanted)
{
    if (m == NULL || m->bytes == 0 || used + wanted <= bound_of(m, MEMORY_EVENT))
        return true;
    return used + wanted <= m->bytes && own + wanted <= share_of(m);
}
