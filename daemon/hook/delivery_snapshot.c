/* SPDX-License-Identifier: Apache-2.0 */
#include "hook/delivery_snapshot.h"

#include <stdlib.h>

#include "base/mem.h"

/* successor_delete is left out: the start of a run does not change it. */
struct delivery_snapshot delivery_snapshot_of(const struct delivery *dl)
{
    struct delivery_snapshot m = {.pending_delete = dl->pending_delete,
                                  .delivered_paths = mem_strdup(dl->delivered_paths),
                                  .attempted = dl->attempted,
                                  .last_was_end = dl->last_was_end,
                                  .superseded = dl->superseded,
                                  .skipped = dl->skipped,
                                  .inherited = dl->inherited};

    known_copy(&m.handled, &dl->handled);
    known_copy(&m.delivered, &dl->delivered);
    known_copy(&m.successor, &dl->successor);
    if (m.pending_delete.object != NULL)
        object_ref(m.pending_delete.object);
    return m;
}

void delivery_snapshot_fini(struct delivery_snapshot *m)
{
    known_set(&m->handled, NULL);
    known_set(&m->delivered, NULL);
    known_set(&m->successor, NULL);
    object_unref(&m->pending_delete.object);
    free(m->delivered_paths);
    *m = (struct delivery_snapshot){0};
}
