/* SPDX-License-Identifier: Apache-2.0 */
#include "cache/buffering.h"

/* Bytes that come within this time are one burst. A server sends its last bookmark 2 s before it ends a
 * watch (docs/kubernetes-protocol.md "Bookmarks"). The time is shorter than that, so this bookmark does
 * not look as if it had been held back until the end. */
#define BURST_MS 1000

/* All bytes of a shorter watch may well come with its end. */
#define LIVED_MS 5000

/* A server sends one bookmark a minute, and a last one that may follow at once. */
enum { MANY_BOOKMARKS = 3 };

/* The burst is over, by the end of its response or by a silence. One that comes with the end was held
 * back, or by chance came last: in a watch that gets through, others came before it. One that comes in
 * the middle and has not many bookmarks shows that bytes get through. */
static void end_burst(struct buffering *b, bool with_end, uint64_t now_ms)
{
    bool was_held = with_end && now_ms - b->begun_ms >= LIVED_MS;

    if (was_held || b->bookmarks >= MANY_BOOKMARKS)
        b->late++;
    else if (!with_end)
        b->late = 0;
    b->burst_ms = 0;
    b->bookmarks = 0;
}

/* Ends a burst that was followed by a silence. */
static void settle(struct buffering *b, uint64_t now_ms)
{
    if (b->burst_ms > 0 && now_ms - b->burst_ms >= BURST_MS)
        end_burst(b, false, now_ms);
}

void buffering_begin(struct buffering *b, uint64_t now_ms)
{
    settle(b, now_ms);
    b->unanswered = 0;
    b->lists = false;
    b->begun_ms = now_ms;
    b->burst_ms = 0;
    b->bookmarks = 0;
}

void buffering_heard(struct buffering *b, unsigned bookmarks, uint64_t now_ms)
{
    settle(b, now_ms);
    if (b->burst_ms == 0)
        b->burst_ms = now_ms;
    b->bookmarks += bookmarks;
}

void buffering_end(struct buffering *b, uint64_t now_ms)
{
    settle(b, now_ms);
    if (b->burst_ms > 0)
        end_burst(b, true, now_ms);
}

void buffering_unanswered(struct buffering *b)
{
    b->unanswered++;
}

void buffering_listed(struct buffering *b, bool answered)
{
    b->lists = answered;
}

enum buffering_sign buffering_look(const struct buffering *b, uint64_t now_ms)
{
    struct buffering of_now = *b;

    settle(&of_now, now_ms);
    if (of_now.unanswered >= BUFFERING_IN_A_ROW && of_now.lists)
        return BUFFERING_HEADS;
    return of_now.late >= BUFFERING_IN_A_ROW ? BUFFERING_BODIES : BUFFERING_NONE;
}
