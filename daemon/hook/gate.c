/* SPDX-License-Identifier: Apache-2.0 */
#include "hook/gate.h"

/* A source that is stale counts as one that is not there, with when_stale = "wait"
 * (docs/decisions.md "With require any, sources are opened one by one"). */
static bool usable(const struct hook *h, const struct hook_source *s)
{
    return source_synced(s->of) && !(h->rules.when_stale == HOOK_STALE_WAIT && s->stale);
}

/* Are as many sources usable as `require` asks for? */
static bool enough_usable(const struct hook *h)
{
    size_t n = 0;

    for (size_t i = 0; i < h->source_count; i++)
        n += usable(h, &h->sources[i]);
    return h->rules.require == HOOK_REQUIRE_ANY ? n > 0 : n == h->source_count;
}

const struct hook_source *gate_unsynced(const struct hook *h)
{
    for (size_t i = 0; i < h->source_count; i++)
        if (!source_synced(h->sources[i].of))
            return &h->sources[i];
    return NULL;
}

const struct hook_source *gate_stale(const struct hook *h)
{
    /* A stale source is no reason to wait as long as enough others are usable. */
    if (h->rules.when_stale != HOOK_STALE_WAIT || enough_usable(h))
        return NULL;
    for (size_t i = 0; i < h->source_count; i++)
        if (source_synced(h->sources[i].of) && h->sources[i].stale)
            return &h->sources[i];
    return NULL;
}

const struct hook_source *gate_incomplete(const struct hook *h)
{
    for (size_t i = 0; i < h->source_count; i++)
        if (h->sources[i].incomplete)
            return &h->sources[i];
    return NULL;
}

const struct hook *gate_before(const struct hooks *hs, const struct hook *h)
{
    for (size_t i = 0; i < h->rules.after_count; i++) {
        const struct hook *before = hooks_find(hs, str_c(h->rules.after[i]));

        if (before != NULL && !hook_first_ended(before))
            return before;
    }
    return NULL;
}

void gate_block(struct hook *h)
{
    bool closed = h->gate == GATE_CLOSED || h->stage != HOOK_SERVES;
    bool waits = gate_incomplete(h) != NULL || gate_stale(h) != NULL;

    scheduler_block(&h->work_queue, h->paused || closed || waits || h->strays.due > 0);
}

void gate_close(struct hook *h)
{
    if (!enough_usable(h)) {
        h->gate = GATE_CLOSED;
        h->first_failed = false;
    }
    gate_block(h);
}

/* Is a snapshot due when the hook sees a source for the first time? Even without any object it is,
 * as the hook must learn that there are none. With existing = "skip" it is not. */
static bool wants_first(const struct hook *h)
{
    return h->rules.mode == HOOK_SNAPSHOT && h->rules.existing == HOOK_EXISTING_RUN;
}

/* Is a snapshot due when this source opens, even if no key has changed? If an earlier process has
 * seen the source, only if the last snapshot lacked it. */
static bool wants_snapshot(const struct hook *h, size_t source)
{
    return h->queue.sources[source].is_seen ? h->sources[source].is_lacked : wants_first(h);
}

void gate_note_lacked(struct hook *h)
{
    for (size_t i = 0; i < h->source_count; i++)
        h->sources[i].is_lacked = h->rules.mode == HOOK_SNAPSHOT && !h->queue.sources[i].is_open &&
                                  h->queue.sources[i].is_seen;
}

bool gate_lacked(const struct hook *h)
{
    for (size_t i = 0; i < h->source_count; i++)
        if (h->sources[i].is_lacked)
            return true;
    return false;
}

/* Opens every synced source that is not open. True if there was one. */
static bool open_sources(struct hook *h, uint64_t now_ms)
{
    bool any = false;

    for (size_t i = 0; i < h->source_count; i++) {
        if (h->queue.sources[i].is_open || !source_synced(h->sources[i].of))
            continue;
        /* Before delivery_queue_open(), which sets is_seen. */
        h->snapshot_due = h->snapshot_due || wants_snapshot(h, i);
        h->sources[i].is_lacked = false;
        delivery_queue_open(&h->queue, i, h->rules.existing == HOOK_EXISTING_SKIP, now_ms);
        any = true;
    }
    return any;
}

bool gate_update(const struct hooks *hs, struct hook *h, uint64_t now_ms)
{
    /* RETIRES: its sources may belong to its successor already. STARTS: a hook that is renewed must
     * not have opened any. */
    if (h->stage != HOOK_SERVES)
        return false;
    /* Behind an open gate a source that syncs later is opened at once; `after` and `require`
     * concern the first run only. */
    if (h->gate != GATE_CLOSED)
        return open_sources(h, now_ms);
    if (!enough_usable(h) || gate_before(hs, h) != NULL)
        return false;
    h->gate = GATE_FIRST;
    return open_sources(h, now_ms);
}
