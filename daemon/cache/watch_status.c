/* SPDX-License-Identifier: Apache-2.0 */
#include "cache/watch_status.h"

#include "cache/list_watch_status.h"

/* Does the user have to grant something first? */
static bool refused(const struct err *err)
{
    return err->kind == ERR_FORBIDDEN || err->kind == ERR_UNAUTHORIZED;
}

const char *watch_state_name(enum watch_state state)
{
    static const char *const names[] = {"watching", "listing",   "waiting",
                                        "backoff",  "forbidden", "incomplete"};

    return names[state];
}

enum watch_state watch_state_unresolved(const struct err *why)
{
    return refused(why) ? WATCH_FORBIDDEN : WATCH_WAITING;
}

static enum watch_state state_of(const struct list_watch_status *s)
{
    if (s->incomplete && s->err->kind == ERR_OK)
        return WATCH_INCOMPLETE;
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
    case REFLECTOR_FULL:
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

void watch_status_add(struct watch_status *sum, const struct list_watch_status *s, uint64_t now_ms)
{
    if (state_of(s) > sum->state)
        sum->state = state_of(s);
    sum->incomplete = sum->incomplete || s->incomplete;
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
    if (sum->buffering == BUFFERING_NONE)
        sum->buffering = buffering_look(s->buffering, now_ms);
    for (size_t i = 0; i < EVENT_TYPES; i++)
        sum->events_by[i] += s->events_by[i];
    for (size_t i = 0; i < ERR_KINDS; i++)
        sum->errors_by[i] += s->errors_by[i];
    if (s->err->kind != ERR_OK)
        sum->err = s->err;
}
