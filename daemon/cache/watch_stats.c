/* SPDX-License-Identifier: Apache-2.0 */
#include "cache/watch_stats.h"

/* Does the user have to grant something first? */
static bool refused(const struct err *err)
{
    return err->kind == ERR_FORBIDDEN || err->kind == ERR_UNAUTHORIZED;
}

const char *watch_state_name(enum watch_state state)
{
    static const char *const names[] = {"watching", "listing", "waiting", "backoff", "forbidden"};

    return names[state];
}

static enum watch_state state_of(const struct list_watch_status *s)
{
    switch (s->state) {
    case REFLECTOR_WATCHING:
    case REFLECTOR_PROBING:
        if (s->err->kind == ERR_OK)
            return WATCH_WATCHING;
        break; /* another try is under way; the error counts until it is established */
    case REFLECTOR_LISTING:
    case REFLECTOR_STREAMING:
    case REFLECTOR_COMPARING:
        return WATCH_LISTING;
    case REFLECTOR_IDLE:
    case REFLECTOR_HELD:
        return WATCH_WAITING;
    case REFLECTOR_BACKOFF:
        break;
    }
    if (s->err->kind == ERR_NO_VERB)
        return WATCH_WAITING; /* until another server stands behind that API */
    return refused(s->err) ? WATCH_FORBIDDEN : WATCH_BACKOFF;
}

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Sums of counters, but the worst of all else: one scope without contact hides the contact of the
 * others, as the oldest contact is asked for. */
static void add(struct watch_status *sum, const struct list_watch_status *s, uint64_t now_ms)
{
    uint64_t age = s->contact_ms > 0 && now_ms > s->contact_ms ? now_ms - s->contact_ms : 0;

    sum->synced = sum->synced && s->synced;
    sum->contact = sum->contact && s->contact_ms > 0;
    sum->contact_age_ms = later(sum->contact_age_ms, age);
    sum->event_ms = later(sum->event_ms, s->event_ms);
    sum->bookmark_ms = later(sum->bookmark_ms, s->bookmark_ms);
    for (size_t i = 0; i < RELIST_REASONS; i++) {
        sum->relists_by[i] += s->relists[i];
        sum->relists += s->relists[i];
    }
    if (guard_holds(s->guard)) {
        sum->held = s->guard->reason;
        sum->held_deletes += s->guard->deletes;
    }
    sum->events += s->events;
    if (s->err->kind != ERR_OK)
        sum->err = s->err;
}

void watch_stats_begin(struct watch_stats *t, bool any, const struct err *unresolved,
                       uint64_t now_ms)
{
    enum watch_state none = refused(unresolved) ? WATCH_FORBIDDEN : WATCH_WAITING;

    *t = (struct watch_stats){
        .sum = {.state = any ? WATCH_WATCHING : none,
                .synced = any,
                .contact = any,
                .rv = "",
                .err = unresolved},
        .now_ms = now_ms,
    };
}

void watch_stats_add(struct watch_stats *t, const struct list_watch_status *s)
{
    /* The resource is known, so unresolved counts no more. */
    if (t->added++ == 0) {
        t->sum.rv = s->rv;
        t->sum.err = s->err;
    }
    if (state_of(s) > t->sum.state)
        t->sum.state = state_of(s);
    add(&t->sum, s, t->now_ms);
}

struct watch_status watch_stats_end(struct watch_stats *t)
{
    if (!t->sum.contact)
        t->sum.contact_age_ms = 0;
    return t->sum;
}
