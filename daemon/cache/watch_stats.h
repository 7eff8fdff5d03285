/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch_stats - the status of a watch, summed up from its scopes; pure. All but struct watch_status
 * is used by watch only.
 */
#ifndef CACHE_WATCH_STATS_H
#define CACHE_WATCH_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cache/list_watch.h"

/* How far a watch is from watching, by the words of docs/design.md "Status report": the worst scope
 * speaks for the watch, and the worst state is the last one. */
enum watch_state { WATCH_WATCHING, WATCH_LISTING, WATCH_WAITING, WATCH_BACKOFF, WATCH_FORBIDDEN };

/* The word of the status: "watching", "listing", ... */
const char *watch_state_name(enum watch_state state);

/* All scopes together: the worst state, the oldest contact. */
struct watch_status {
    enum watch_state state;
    bool synced;
    bool stale;              /* synced once, and a scope's stream is lost for stale_after */
    enum guard_reason held;  /* why the guard holds a list; GUARD_NOTHING = no list is held */
    size_t held_deletes;     /* deletes that it holds back */
    bool contact;            /* false: a server was never heard; contact_age_ms is 0 */
    uint64_t contact_age_ms; /* since the last good byte, also of an established watch */
    uint64_t event_ms;       /* when the last event, the last bookmark came; 0 = never */
    uint64_t bookmark_ms;
    const char *rv; /* of the first scope */
    uint64_t relists;
    uint64_t relists_by[RELIST_REASONS];
    uint64_t events;
    uint64_t skipped;      /* objects that are skipped now: see store_skips() */
    const struct err *err; /* kind OK = no error */
};

struct watch_stats {
    struct watch_status sum; /* stale and skipped are set by the caller */
    size_t added;
    uint64_t now_ms;
};

/* any: there are list_watches; if there are none, unresolved says why. */
void watch_stats_begin(struct watch_stats *t, bool any, const struct err *unresolved,
                       uint64_t now_ms);

/* Adds one scope. */
void watch_stats_add(struct watch_stats *t, const struct list_watch_status *s);

/* The sum, after all scopes were added. */
struct watch_status watch_stats_end(struct watch_stats *t);

#endif
