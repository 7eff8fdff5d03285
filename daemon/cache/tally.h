/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tally - the status of a watch, summed up from its streams; pure. All but
 * struct watch_status is the inner side of watch, and only its.
 */
#ifndef CACHE_TALLY_H
#define CACHE_TALLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cache/feed.h"

/* All streams together: the worst state, the oldest contact. */
struct watch_status {
    const char *state; /* listing | watching | backoff | forbidden | waiting (DESIGN 1.7) */
    bool synced;
    bool stale;              /* synced once, and a stream is lost for stale_after */
    const char *held;        /* why the guard holds a list (guard_reason_name()); NULL = none is */
    size_t held_deletes;     /* that it holds back */
    bool contact;            /* false: there never was one; contact_age_ms is 0 */
    uint64_t contact_age_ms; /* since the last good byte; of an established stream too */
    uint64_t event_ms;       /* when the last event, the last bookmark came; 0 = never */
    uint64_t bookmark_ms;
    const char *rv; /* of the first stream */
    uint64_t relists;
    uint64_t relists_by[RELIST_REASONS];
    uint64_t events;
    uint64_t skipped;      /* objects that are skipped now: see store_skips() */
    const struct err *err; /* kind OK = none */
};

/* How far a stream is from watching: the worst one speaks for the watch. */
enum tally_badness {
    TALLY_WATCHING,
    TALLY_LISTING,
    TALLY_WAITING,
    TALLY_BACKOFF,
    TALLY_REFUSED,
};

struct tally {
    struct watch_status sum; /* stale and skipped are the caller's */
    enum tally_badness worst;
    size_t added;
    uint64_t now_ms;
};

/* any: there are streams; if not, unresolved says why. */
void tally_begin(struct tally *t, bool any, const struct err *unresolved, uint64_t now_ms);

/* One stream. */
void tally_add(struct tally *t, const struct feed_status *s);

/* All were added. */
struct watch_status tally_end(struct tally *t);

#endif
