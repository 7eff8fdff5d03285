/* SPDX-License-Identifier: Apache-2.0 */
#include "event_text.h"

void event_text_put(struct buf *out, const struct event *e)
{
    static const char *const names[] = {"ADDED", "MODIFIED", "DELETED", "BOOKMARK",
                                        "ERROR", "UNUSABLE", "SKIPPED"};

    buf_puts(out, names[e->type]);
    if (e->object != NULL) {
        buf_puts(out, e->selected ? " " : " (not selected) ");
        object_put_json(out, e->object);
    }
    buf_printf(out, " rv=%.*s%s", STR_ARG(e->rv), e->initial_events_end ? " end" : "");
    if (e->status != NULL)
        buf_printf(out, " %d %s %s", e->status->code, e->status->reason, e->status->message);
    if (e->unusable != NULL)
        buf_printf(out, " %s%.*s: %s", e->deleted ? "gone " : "", STR_ARG(e->unusable->key),
                   e->unusable->why);
    if (e->why != NULL)
        buf_printf(out, " : %s", e->why);
    buf_putc(out, '\n');
}
