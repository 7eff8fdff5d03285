/* SPDX-License-Identifier: Apache-2.0 */
#include "cache/source.h"

#include "cache/view.h"
#include "cache/watch.h"

bool source_equal(struct source a, struct source b)
{
    return a.watch == b.watch && a.view == b.view;
}

const char *source_name(struct source c)
{
    return c.view != NULL ? view_name(c.view) : watch_name(c.watch);
}

const char *source_cluster(struct source c)
{
    return c.view != NULL ? view_cluster(c.view) : watch_cluster(c.watch);
}

bool source_synced(struct source c)
{
    return c.view != NULL ? view_synced(c.view) : watch_synced(c.watch);
}

const struct store *source_store(struct source c)
{
    return c.view != NULL ? view_store(c.view) : watch_store(c.watch);
}

void source_each(struct source c, void (*fn)(void *arg, struct object *o), void *arg)
{
    if (c.view != NULL)
        store_each(view_store(c.view), fn, arg);
    else
        watch_each(c.watch, fn, arg);
}

bool source_stale(struct source c)
{
    return c.view != NULL ? view_stale(c.view) : watch_stale(c.watch);
}

bool source_incomplete(struct source c)
{
    return c.view != NULL ? view_incomplete(c.view) : watch_incomplete(c.watch);
}

/* Each hook that sees a view has to know the worst of its watches. */
static struct source_status of_view(const struct view *v, uint64_t now_ms)
{
    struct source_status sum = {.synced = view_synced(v),
                                .stale = view_stale(v),
                                .incomplete = view_incomplete(v),
                                .contact = true};

    for (size_t i = 0; i < VIEW_WATCHES; i++) {
        struct source_status s = watch_source_status(view_watch(v, i), now_ms);

        sum.held = sum.held || s.held;
        sum.contact = sum.contact && s.contact;
        if (s.contact_age_ms > sum.contact_age_ms)
            sum.contact_age_ms = s.contact_age_ms;
    }
    if (!sum.contact)
        sum.contact_age_ms = 0;
    return sum;
}

struct source_status source_status(struct source c, uint64_t now_ms)
{
    return c.view != NULL ? of_view(c.view, now_ms) : watch_source_status(c.watch, now_ms);
}
