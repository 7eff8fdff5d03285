/* SPDX-License-Identifier: Apache-2.0 */
#include "hook/delivery_snapshot.h"

#include <stdlib.h>

#include "base/mem.h"

/* successor_delete is left out: the start of a run does not change it. */
struct delivery_snapshot delivery_snapshot_of(const struct delivery *dl)
{
    struct delivery_snapshot m = {.state = dl->state,
                                  .last_was_end = dl->last_was_end,
                                  .inherited = dl->inherited,
                                  .delivered_paths = mem_strdup(dl->delivered_paths)};

    known_copy(&m.handled, &dl->handled);
    known_copy(&m.delivered, &dl->delivered);
    if (dl->ends != NULL) {
        known_copy(&m.successor, &dl->ends->successor);
        delivery_event_set(&m.pending_delete, &dl->ends->pending_delete);
    }
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
