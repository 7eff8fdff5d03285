/* SPDX-License-Identifier: Apache-2.0 */
#include "base/rate.h"

static void begin_window(struct rate *r)
{
    r->took_ms = 0;
    r->came = 0;
}

void rate_begin(struct rate *r, uint64_t now_ms)
{
    r->heard_ms = now_ms;
    begin_window(r);
}

bool rate_add(struct rate *r, size_t n, uint64_t now_ms)
{
    uint64_t silent_ms = now_ms - r->heard_ms;

    r->heard_ms = now_ms;
    r->took_ms += silent_ms < r->pause_ms ? silent_ms : r->pause_ms;
    r->came += n;
    if (r->took_ms < r->window_ms)
        return true;
    bool enough = r->came >= r->bytes;
    begin_window(r);
    return enough;
}
