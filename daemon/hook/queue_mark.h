/* SPDX-License-Identifier: Apache-2.0 */
/*
 * queue_mark - what the start of a run changes in an entry, as it was before: for a start that was
 * none (queue_denied()); pure. Used by run and queue alone.
 */
#ifndef HOOK_QUEUE_MARK_H
#define HOOK_QUEUE_MARK_H

#include "hook/queue.h"

/* As in struct entry; holds references. Zero-initialised is empty. */
struct queue_mark {
    struct known handled;
    struct known announced;
    struct known heir;
    struct queue_event gone;
    char *told;
    bool open;
    bool told_end;
    bool yields;
    bool skipped;
    bool inherited;
};

/* Notes how the entry is. */
struct queue_mark queue_mark_of(const struct entry *e);

/* Frees what it holds. */
void queue_mark_fini(struct queue_mark *m);

#endif
