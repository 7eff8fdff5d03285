/* SPDX-License-Identifier: Apache-2.0 */
/*
 * list_watch_status - the status of one scope of a watch for people and hooks: list_watch_status() of
 * cache/list_watch; pure.
 */
#ifndef CACHE_LIST_WATCH_STATUS_H
#define CACHE_LIST_WATCH_STATUS_H

#include <stdbool.h>
#include <stdint.h>

#include "cache/reflector.h"
#include "cache/resume_point.h"

struct buffering;
struct err;
struct guard;

struct list_watch_status {
    enum reflector_state state;
    bool synced;             /* the first list was committed, or was not needed */
    enum resume_kind resume; /* OVER = synced */
    bool incomplete;     /* limits.memory has kept objects out of the cache since its last list */
    bool connected;      /* a watch is established and not overdue */
    uint64_t contact_ms; /* when the last good byte came, 0 = never */
    /* While not connected: when it last followed or was listed; 0 = never. */
    uint64_t follow_ms;
    uint64_t event_ms; /* when the last event, the last bookmark came; 0 = never */
    uint64_t bookmark_ms;
    const char *rv;
    const char *collection_rv; /* version of the last list or bookmark */
    /* Of the list due or under way; RELIST_REASONS = no list is, or the first. */
    enum relist_reason why;
    const uint64_t *relists; /* by reason */
    const struct guard *guard;
    const struct buffering *buffering;
    uint64_t events;           /* of watches, without bookmarks */
    const uint64_t *events_by; /* all that came, by type */
    const uint64_t *errors_by; /* failed requests, by kind */
    const struct err *err;     /* of the last failure; kind OK since the last success */
};

#endif
