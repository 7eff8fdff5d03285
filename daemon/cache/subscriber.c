/* SPDX-License-Identifier: Apache-2.0 */
#include "cache/subscriber.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/panic.h"

void subscribers_add(struct subscribers *s, const struct subscriber *to, void *arg)
{
    s->v = mem_realloc(s->v, (s->n + 1) * sizeof(*s->v));
    s->v[s->n++] = (struct subscription){to, arg};
}

void subscribers_remove(struct subscribers *s, const struct subscriber *to, const void *arg)
{
    size_t i = 0;

    while (i < s->n && (s->v[i].to != to || s->v[i].arg != arg))
        i++;
    ensure(i < s->n);
    memmove(&s->v[i], &s->v[i + 1], (--s->n - i) * sizeof(*s->v));
}

void subscribers_restored(const struct subscribers *s, struct source from, struct object *o,
                          struct now now)
{
    /* The same delta as for a new object, with the cause that says why: comparison with the
     * remembered state. */
    const struct delta d = {.type = DELTA_ADDED,
                            .cause = CAUSE_RESTART,
                            .object = o,
                            .received_ns = now.wall_ns,
                            .now_ms = now.ms};

    for (size_t i = 0; i < s->n; i++)
        if (s->v[i].to->on_restored != NULL)
            s->v[i].to->on_restored(s->v[i].arg, from, &d);
}

void subscribers_stale(const struct subscribers *s, struct source from, bool stale, struct now now)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->v[i].to->on_stale != NULL)
            s->v[i].to->on_stale(s->v[i].arg, from, stale, now);
}

void subscribers_incomplete(const struct subscribers *s, struct source from, bool incomplete,
                            struct now now)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->v[i].to->on_incomplete != NULL)
            s->v[i].to->on_incomplete(s->v[i].arg, from, incomplete, now);
}

void subscribers_skipped(const struct subscribers *s, struct source from, const struct skip *skip,
                         bool gone)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->v[i].to->on_skipped != NULL)
            s->v[i].to->on_skipped(s->v[i].arg, from, skip, gone);
}

void subscribers_fini(struct subscribers *s)
{
    free(s->v);
    *s = (struct subscribers){0};
}
