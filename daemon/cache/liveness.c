/* SPDX-License-Identifier: Apache-2.0 */
#include "cache/liveness.h"

/* A watch that an ERROR event ended sooner has never followed the server
 * (docs/kubernetes-protocol.md "Very short watches"). */
#define LIVED_MS 1000

/* A longer pause of the initial events is worth a warning
 * (docs/kubernetes-protocol.md "End of initial events"). */
#define INITIAL_PAUSE_MS 10000

/* A server sends old events without such a pause (docs/design.md "Synced"). */
#define SETTLED_MS 500

/* Old events come at once, so after this time a stream that is never silent sends new events
 * (docs/decisions.md "A resumed watch counts as synced after 5 s at most"). */
#define SETTLED_MAX_MS 5000

void liveness_begin(struct liveness *p, bool initial, uint64_t now_ms)
{
    /* The silence of a LIST is not judged here: its request has list_idle_timeout. */
    p->state = initial ? LIVENESS_INITIAL : LIVENESS_NONE;
    liveness_heard(p, now_ms);
}

void liveness_follow(struct liveness *p, uint64_t now_ms)
{
    p->state = LIVENESS_FOLLOWS;
    p->since_ms = now_ms;
}

void liveness_resume(struct liveness *p, uint64_t now_ms)
{
    p->state = LIVENESS_RESUMED;
    p->since_ms = now_ms;
}

void liveness_fill(struct liveness *p, uint64_t now_ms)
{
    p->state = LIVENESS_FILLING;
    p->since_ms = now_ms;
}

void liveness_settle(struct liveness *p, uint64_t now_ms)
{
    if (p->state != LIVENESS_RESUMED)
        return;
    p->state = LIVENESS_FOLLOWS;
    liveness_current(p, now_ms);
}

/* FILLING and FILLED do not count: nothing tells of deletes before the LIST beside the watch. */
bool liveness_watches(const struct liveness *p)
{
    return p->state == LIVENESS_RESUMED || p->state == LIVENESS_FOLLOWS;
}

void liveness_heard(struct liveness *p, uint64_t now_ms)
{
    p->contact_ms = now_ms;
    p->warn_ms = now_ms + INITIAL_PAUSE_MS;
}

void liveness_current(struct liveness *p, uint64_t now_ms)
{
    p->follow_ms = now_ms;
}

void liveness_end(struct liveness *p, bool well, uint64_t now_ms)
{
    bool lived = well || now_ms - p->since_ms >= LIVED_MS;

    /* Until now the cache was equal to the server. A RESUMED watch cannot know that. */
    if (p->state == LIVENESS_FOLLOWS && lived)
        liveness_current(p, now_ms);
    p->state = LIVENESS_NONE;
}

uint64_t liveness_due_ms(const struct liveness *p, bool had_bookmark)
{
    uint64_t stuck_ms = p->contact_ms + p->list_idle_timeout_ms;
    uint64_t settled_ms = p->contact_ms + SETTLED_MS;

    switch (p->state) {
    case LIVENESS_INITIAL:
        return stuck_ms < p->warn_ms ? stuck_ms : p->warn_ms;
    case LIVENESS_RESUMED:
    case LIVENESS_FILLING:
        return settled_ms < p->since_ms + SETTLED_MAX_MS ? settled_ms
                                                         : p->since_ms + SETTLED_MAX_MS;
    case LIVENESS_FOLLOWS:
        /* A watch without a bookmark may be silent for its whole time
         * (docs/kubernetes-protocol.md "Bookmarks"); the deadline of its request ends it. */
        return had_bookmark ? p->contact_ms + p->bookmark_timeout_ms : UINT64_MAX;
    case LIVENESS_FILLED:
    case LIVENESS_NONE:
        break;
    }
    return UINT64_MAX;
}

uint64_t liveness_silent_ms(const struct liveness *p, uint64_t now_ms)
{
    return now_ms - p->contact_ms;
}

/* How long silence is accepted depends on the state; liveness_due_ms() has the limits. */
enum liveness_sign liveness_look(struct liveness *p, bool had_bookmark, uint64_t now_ms)
{
    if (now_ms < liveness_due_ms(p, had_bookmark))
        return LIVENESS_WELL;
    if (p->state == LIVENESS_FOLLOWS)
        return LIVENESS_OVERDUE;
    if (p->state == LIVENESS_FILLING) {
        p->state = LIVENESS_FILLED;
        return LIVENESS_SETTLED;
    }
    if (p->state == LIVENESS_RESUMED) {
        liveness_settle(p, now_ms);
        return LIVENESS_SETTLED;
    }
    if (liveness_silent_ms(p, now_ms) >= p->list_idle_timeout_ms)
        return LIVENESS_STUCK;
    p->warn_ms = now_ms + INITIAL_PAUSE_MS;
    return LIVENESS_PAUSED;
}
