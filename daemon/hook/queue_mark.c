/* SPDX-License-Identifier: Apache-2.0 */
#include "hook/queue_mark.h"

#include <stdlib.h>

#include "base/mem.h"

static struct object *ref(struct object *o)
{
    return o != NULL ? object_ref(o) : NULL;
}

struct queue_mark queue_mark_of(const struct entry *e)
{
    struct queue_mark m = {.handled = ref(e->handled),
                           .announced = ref(e->announced),
                           .heir = ref(e->heir),
                           .gone = e->gone,
                           .told = mem_strdup(e->told),
                           .open = e->open,
                           .told_end = e->told_end,
                           .yields = e->yields};

    ref(m.gone.object);
    return m;
}

void queue_mark_fini(struct queue_mark *m)
{
    object_unref(&m->handled);
    object_unref(&m->announced);
    object_unref(&m->heir);
    object_unref(&m->gone.object);
    free(m->told);
    *m = (struct queue_mark){0};
}
