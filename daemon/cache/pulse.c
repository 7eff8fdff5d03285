/* SPDX-License-Identifier: Apache-2.0 */
#include "cache/pulse.h"

/* A watch that an error ends sooner was not meant as one (PROTOCOL 1.7). */
#define LIVED_MS 1000

/* Initial events that pause for longer are worth a warning (PROTOCOL 1.1). */
#define INITIAL_PAUSE_MS 10000

/* What a server sends of the past comes without such a pause (DESIGN 1.4.1). */
#define SETTLED_MS 500

/* What had long been so comes at once; a stream that is never silent brings what happens now. */
#define SETTLED_MAX_MS 5000

void pulse_begin(struct pulse *p, bool initial, uint64_t now_ms)
{
    p->state = initial ? PULSE_INITIAL : PULSE_NONE;
    pulse_heard(p, now_ms);
}

void pulse_follow(struct pulse *p, uint64_t now_ms)
{
    p->state = PULSE_FOLLOWS;
    p->since_ms = now_ms;
}

void pulse_resume(struct pulse *p, uint64_t now_ms)
{
    p->state = PULSE_RESUMED;
    p->since_ms = now_ms;
}

void pulse_fill(struct pulse *p, uint64_t now_ms)
{
    p->state = PULSE_FILLING;
    p->since_ms = now_ms;
}

void pulse_settle(struct pulse *p, uint64_t now_ms)
{
    if (p->state != PULSE_RESUMED)
        return;
    p->state = PULSE_FOLLOWS;
    pulse_current(p, now_ms);
}

bool pulse_watches(const struct pulse *p)
{
    return p->state == PULSE_RESUMED || p->state == PULSE_FOLLOWS;
}

void pulse_heard(struct pulse *p, uint64_t now_ms)
{
    p->contact_ms = now_ms;
    p->warn_ms = now_ms + INITIAL_PAUSE_MS;
}

void pulse_current(struct pulse *p, uint64_t now_ms)
{
    p->follow_ms = now_ms;
}

void pulse_end(struct pulse *p, bool well, uint64_t now_ms)
{
    bool lived = well || now_ms - p->since_ms >= LIVED_MS;

    if (p->state == PULSE_FOLLOWS && lived)
        pulse_current(p, now_ms);
    p->state = PULSE_NONE;
}

uint64_t pulse_due_ms(const struct pulse *p, bool had_bookmark)
{
    uint64_t stuck_ms = p->contact_ms + p->list_idle_timeout_ms;
    uint64_t settled_ms = p->contact_ms + SETTLED_MS;

    switch (p->state) {
    case PULSE_INITIAL:
        return stuck_ms < p->warn_ms ? stuck_ms : p->warn_ms;
    case PULSE_RESUMED:
    case PULSE_FILLING:
        return settled_ms < p->since_ms + SETTLED_MAX_MS ? settled_ms
                                                         : p->since_ms + SETTLED_MAX_MS;
    case PULSE_FOLLOWS:
        return had_bookmark ? p->contact_ms + p->bookmark_timeout_ms : UINT64_MAX;
    case PULSE_FILLED:
    case PULSE_NONE:
        break;
    }
    return UINT64_MAX;
}

uint64_t pulse_silent_ms(const struct pulse *p, uint64_t now_ms)
{
    return now_ms - p->contact_ms;
}

enum pulse_sign pulse_look(struct pulse *p, bool had_bookmark, uint64_t now_ms)
{
    if (now_ms < pulse_due_ms(p, had_bookmark))
        return PULSE_WELL;
    if (p->state == PULSE_FOLLOWS)
        return PULSE_OVERDUE;
    if (p->state == PULSE_FILLING) {
        p->state = PULSE_FILLED;
        return PULSE_SETTLED;
    }
    if (p->state == PULSE_RESUMED) {
        pulse_settle(p, now_ms);
        return PULSE_SETTLED;
    }
    if (pulse_silent_ms(p, now_ms) >= p->list_idle_timeout_ms)
        return PULSE_STUCK;
    p->warn_ms = now_ms + INITIAL_PAUSE_MS;
    return PULSE_PAUSED;
}
