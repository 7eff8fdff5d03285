/* SPDX-License-Identifier: Apache-2.0 */
#include "cache/guard.h"

/* The deletes of all lists of a watch within this time are counted together
 * (docs/decisions.md "The guard adds up the deletes of one minute"). */
#define WINDOW_MS 60000

/* Judges the window as one list: before it the watch had the deleted objects, too. A list that
 * deletes nothing is never held for the deletes of others. */
static bool too_many_deletes(const struct guard *g, const struct guard_window *w,
                             const struct guard_case *c)
{
    size_t before = c->objects + w->deletes;
    size_t gone = c->deletes + w->deletes;

    if (g->params.relist_deletes == GUARD_OFF || before < g->params.at_least || c->deletes == 0)
        return false;
    return gone * 100 > (size_t)g->params.relist_deletes * before;
}

/* A version that went backwards is held whatever the settings say. */
static enum guard_reason suspect(const struct guard *g, const struct guard_window *w,
                                 const struct guard_case *c)
{
    if (c->backwards)
        return GUARD_BACKWARDS;
    return too_many_deletes(g, w, c) ? GUARD_DELETES : GUARD_NOTHING;
}

static enum guard_verdict pass(struct guard *g, struct guard_window *w, const struct guard_case *c,
                               enum guard_reason confirmed)
{
    g->state = GUARD_CLEAR;
    g->reason = GUARD_NOTHING;
    g->deletes = 0;
    /* Deletes that were confirmed count no more, so that they do not get the next list held. */
    w->deletes = confirmed == GUARD_NOTHING ? w->deletes + c->deletes : 0;
    return GUARD_PASS;
}

enum guard_verdict guard_judge(struct guard *g, struct guard_window *w, const struct guard_case *c,
                               uint64_t now_ms)
{
    /* A window begins with its first delete. */
    if (w->deletes == 0 || now_ms - w->since_ms >= WINDOW_MS)
        *w = (struct guard_window){.since_ms = now_ms};
    enum guard_reason reason = suspect(g, w, c);
    /* A list that comes before the hold is over, as one that a person ordered, confirms nothing. */
    bool agrees = reason == g->reason && now_ms - g->since_ms >= g->params.hold_ms;

    if (reason == GUARD_NOTHING || g->state == GUARD_ACCEPTED || (g->state == GUARD_HELD && agrees))
        return pass(g, w, c, reason);
    /* The hold begins anew for another reason, and after a reject with each list. */
    if (g->state == GUARD_CLEAR || reason != g->reason || g->state == GUARD_REJECTED)
        g->since_ms = now_ms;
    if (g->state == GUARD_CLEAR)
        g->state = GUARD_HELD;
    g->reason = reason;
    g->deletes = c->deletes;
    return GUARD_HOLD;
}

uint64_t guard_wait_ms(const struct guard *g, uint64_t now_ms)
{
    uint64_t until_ms = g->since_ms + g->params.hold_ms;

    return until_ms > now_ms ? until_ms - now_ms : 0;
}

bool guard_holds(const struct guard *g)
{
    return g->state != GUARD_CLEAR;
}

void guard_hold_foreign(struct guard *g, uint64_t now_ms)
{
    g->state = GUARD_HELD;
    g->reason = GUARD_IDENTITY;
    g->since_ms = now_ms;
    g->deletes = 0;
}

/* A list that was held before the other cluster answered is forgotten: the next list is judged
 * anew. */
void guard_release_foreign(struct guard *g)
{
    if (g->reason != GUARD_IDENTITY)
        return;
    g->state = GUARD_CLEAR;
    g->reason = GUARD_NOTHING;
}

/* GUARD_IDENTITY is decided by app/, for the cluster as a whole
 * (docs/decisions.md "guard accept forgets the old cluster in place"). */
bool guard_accept(struct guard *g)
{
    if (!guard_holds(g) || g->reason == GUARD_IDENTITY)
        return false;
    g->state = GUARD_ACCEPTED;
    return true;
}

bool guard_reject(struct guard *g)
{
    if (!guard_holds(g) || g->reason == GUARD_IDENTITY)
        return false;
    g->state = GUARD_REJECTED;
    return true;
}

const char *guard_reason_name(enum guard_reason reason)
{
    static const char *const names[] = {NULL, "deletes", "backwards", "identity"};

    return names[reason];
}
