/* SPDX-License-Identifier: Apache-2.0 */
#include "cache/liveness.h"

/* A watch that an ERROR event ended sooner never followed the server
 * (docs/kubernetes-protocol.md "Very short watches"). */
#define LIVED_MS 1000

/* Initial events that pause for longer are worth a warning
 * (docs/kubernetes-protocol.md "End of initial events"). */
#define INITIAL_PAUSE_MS 10000

/* A server sends old events without such a pause (docs/design.md "Synced"). */
#define SETTLED_MS 500

/* What had long been so comes at once; a stream that is never silent brings what happens now. */
#define SETTLED_MAX_MS 5000

void liveness_begin(struct liveness *p, bool initial, uint64_t now_ms)
{
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
