/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch_status - the status of a watch for people, made of that of its scopes: watch_status() of cache/watch;
 * pure.
 */
#ifndef CACHE_WATCH_STATUS_H
#define CACHE_WATCH_STATUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "cache/buffering.h"
#include "cache/guard.h"
#include "cache/reflector.h"
#include "kube/event.h"

struct list_watch_status;

/* How far a watch is from watching, by the words of docs/design.md "Status report": the worst scope
 * speaks for the watch, and the worst state is the last one. */
enum watch_state {
    WATCH_WATCHING,
    WATCH_LISTING,
    WATCH_WAITING,
    WATCH_BACKOFF,
    WATCH_FORBIDDEN,
    WATCH_INCOMPLETE, /* limits.memory is reached, also while a list tries to complete the cache */
};

/* The word of the status: "watching", "listing", ... */
const char *watch_state_name(enum watch_state state);

/* All scopes together: the worst state, the oldest contact. */
struct watch_status {
    enum watch_state state;
    bool synced;
    bool incomplete;         /* limits.memory keeps objects out of the cache */
    bool stale;              /* synced once, and a scope's stream is lost for stale_after */
    enum guard_reason held;  /* why the guard holds a list; GUARD_NOTHING = no list is held */
    size_t held_deletes;     /* deletes that it holds back */
    bool contact;            /* false: a server was never heard; contact_age_ms is 0 */
    uint64_t contact_age_ms; /* since the last good byte, also of an established watch */
    uint64_t event_ms;       /* when the last event, the last bookmark came; 0 = never */
    uint64_t bookmark_ms;
    uint64_t silence_ms; /* after so long a silence a watch that was well is stale, roughly */
    const char *rv;      /* of the first scope */
    uint64_t relists;
    uint64_t relists_by[RELIST_REASONS];
    uint64_t events; /* of watches, without bookmarks */
    enum buffering_sign buffering;
    uint64_t events_by[EVENT_TYPES]; /* all that came, by type */
    uint64_t errors_by[ERR_KINDS];   /* failed requests, by kind */
    uint64_t skipped;                /* objects that are skipped now: see store_skips() */
    const struct err *err;           /* kind OK = no error */
};

/* The state of a watch whose resource discovery has not found; err kind OK = it has not failed so far. */
enum watch_state watch_state_unresolved(const struct err *why);

/* Adds one scope: sums of counters, but the worst of all else. */
void watch_status_add(struct watch_status *sum, const struct list_watch_status *s, uint64_t now_ms);

#endif
