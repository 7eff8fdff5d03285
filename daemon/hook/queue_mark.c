/* SPDX-License-Identifier: Apache-2.0 */
#include "hook/queue_mark.h"

#include <stdlib.h>

#include "base/mem.h"

struct queue_mark queue_mark_of(const struct entry *e)
{
    struct queue_mark m = {.gone = e->gone,
                           .told = mem_strdup(e->told),
                           .open = e->open,
                           .told_end = e->told_end,
                           .yields = e->yields,
                           .skipped = e->skipped,
                           .inherited = e->inherited};

    known_copy(&m.handled, &e->handled);
    known_copy(&m.announced, &e->announced);
    known_copy(&m.heir, &e->heir);
    if (m.gone.object != NULL)
        object_ref(m.gone.object);
    return m;
}

void queue_mark_fini(struct queue_mark *m)
{
    known_set(&m->handled, NULL);
    known_set(&m->announced, NULL);
    known_set(&m->heir, NULL);
    object_unref(&m->gone.object);
    free(m->told);
    *m = (struct queue_mark){0};
}
